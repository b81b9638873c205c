import { CreateMessageRequestParamsSchema } from '@modelcontextprotocol/core';
import type { FormQuestion } from '../../../../contracts/questions/question.ts';
import { visibleText } from '../../../../contracts/visible-text.ts';
import type { ModelQuestion } from '../../../api/server-question.ts';

/** Characters of all texts together. */
const LONGEST = 200_000;
/** Of what a person has to read before the model may be asked. A question is a part of the status of its conversation. */
const LONGEST_FOR_PERSON = 6_000;

/**
 * What a server wants to ask the model. Which model it would prefer, how it should sample and which context it would like are wishes, which the protocol lets a
 * client ignore: the model is the agent's, and gets nothing but these texts.
 * @throws an Error that says to the server what is wrong with it
 */
export function readSampling(given: unknown): ModelQuestion {
  const { success, data } = CreateMessageRequestParamsSchema.safeParse(given);
  if (!success) throw new Error('it is no list of messages with maxTokens');
  if (data.tools !== undefined || data.toolChoice !== undefined) throw new Error('the model is not offered tools of servers');
  const system = data.systemPrompt === undefined ? [] : [{ role: 'system' as const, text: data.systemPrompt }];
  const messages = [...system, ...data.messages.map(({ role, content }) => ({ role, text: textOf(content) }))];
  if (data.messages.length === 0) throw new Error('it has no messages');
  const size = messages.reduce((sum, { text }) => sum + text.length, 0);
  if (size > LONGEST) throw new Error(`its texts have ${size} characters, and ${LONGEST} are allowed`);
  if (data.maxTokens < 1) throw new Error('maxTokens is below 1');
  return { messages, tools: [], maxOutputTokens: data.maxTokens };
}

/** The same for a person, who allows it or not. @throws an Error when it is too long for a person to read */
export function askWhether(server: string, { messages }: ModelQuestion): FormQuestion {
  const words = messages.map(({ role, text }) => `${role}: ${text}`).join('\n\n');
  const message = visibleText(`It wants to ask the model of this conversation, at the cost of the conversation, and gets the answer:\n\n${words}`);
  if (message.length > LONGEST_FOR_PERSON) {
    throw new Error(`a person has to read it before the model is asked, so it may have ${LONGEST_FOR_PERSON} characters; it has ${message.length}`);
  }
  return { server, message, schema: { type: 'object', properties: {}, additionalProperties: false }, answer: {} };
}

function textOf(content: unknown): string {
  const parts: unknown[] = Array.isArray(content) ? content : [content];
  return parts
    .map((part) => {
      const { type, text } = part as { type?: unknown; text?: unknown };
      if (type !== 'text' || typeof text !== 'string') throw new Error('the model can be asked with texts alone');
      return text;
    })
    .join('\n');
}

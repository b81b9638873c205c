import { z } from 'zod';
import { id } from '../../../common/arguments.ts';
import { showValue } from '../../../common/show-value.ts';
import { failure } from '../../../contracts/errors.ts';

const textPart = z.looseObject({ type: z.string(), text: z.string().optional() });
const message = z.looseObject({ role: z.string(), content: z.union([z.string(), z.array(textPart)]).nullish() });

/** What a client of OpenAI's chat completions posts. The settings of the model are in the agent's file: those of a request are not used. */
export const completionBody = z
  .looseObject({
    model: id.meta({ description: 'Id of an agent', example: 'captain' }),
    messages: z
      .array(message)
      .min(1)
      .meta({ description: 'Only the last is read: the conversation has those before it', example: [{ role: 'user', content: 'What is the tide at noon?' }] }),
    stream: z.boolean().nullish(),
    stream_options: z.looseObject({ include_usage: z.boolean().optional() }).nullish(),
    metadata: z.looseObject({ conversation: id.optional().meta({ description: 'As the header x-longshore-conversation', example: 'chat-1' }) }).nullish(),
    user: id.nullish().meta({ description: 'For whom; default `openai`', example: 'user-1' }),
  })
  .meta({ id: 'ChatCompletionRequest' });
export type CompletionBody = z.output<typeof completionBody>;

/** What would change the answer in a way that the service does not have. */
const REFUSED: { field: string; isAsked: (value: unknown) => boolean; fix: string }[] = [
  { field: 'tools', isAsked: hasSome, fix: "The agent's file says which tools it has. Leave this out" },
  { field: 'functions', isAsked: hasSome, fix: "The agent's file says which tools it has. Leave this out" },
  { field: 'n', isAsked: (value) => value !== 1, fix: 'A message has one answer. Leave this out' },
  { field: 'response_format', isAsked: (value) => (value as { type?: unknown }).type !== 'text', fix: 'Answers are text. Leave this out' },
  { field: 'logprobs', isAsked: (value) => value !== false, fix: 'Leave this out' },
  { field: 'modalities', isAsked: (value) => JSON.stringify(value) !== '["text"]', fix: 'Answers are text. Leave this out' },
];

/** The text of the request's last message. @throws INVALID_ARGUMENT for what cannot be done, so that nothing is left out in silence */
export function readCompletionRequest(body: CompletionBody): { text: string; hasHistory: boolean } {
  for (const { field, isAsked, fix } of REFUSED) {
    const value: unknown = body[field];
    if (value !== undefined && value !== null && isAsked(value)) throw refused(`body.${field}`, 'it is not supported', fix);
  }
  const system = body.messages.findIndex(({ role }) => role === 'system' || role === 'developer');
  if (system !== -1) throw refused(`body.messages.${system}`, 'it has instructions', "The agent's file has them. Leave this message out");
  const last = body.messages.at(-1);
  const at = `body.messages.${body.messages.length - 1}`;
  if (last?.role !== 'user') throw refused(at, `its role is ${showValue(last?.role)}`, 'Send a message of the user last');
  return { text: textOf(last.content ?? '', at), hasHistory: body.messages.length > 1 };
}

function textOf(content: string | z.output<typeof textPart>[], at: string): string {
  if (typeof content === 'string') return content;
  return content
    .map(({ type, text }) => {
      if (type === 'text' && text !== undefined) return text;
      throw refused(at, `it has a part of the type ${showValue(type)}`, 'Send text only');
    })
    .join('\n');
}

function hasSome(value: unknown): boolean {
  return !Array.isArray(value) || value.length > 0;
}

function refused(what: string, problem: string, fix: string): Error {
  return failure('INVALID_ARGUMENT', { what, problem, fix });
}

import { z } from 'zod';
import type { Json } from '../../../../contracts/json.ts';
import { cutMiddle } from '../../../../contracts/visible-text.ts';
import type { SaidMessage, ServerQuestion } from '../../../api/server-question.ts';

const text = z.string().max(400_000);
const image = z.strictObject({ mediaType: z.enum(['image/png', 'image/jpeg', 'image/gif', 'image/webp']), data: z.base64().max(1_000_000) });
const modelQuestion = z.strictObject({
  messages: z
    .array(z.strictObject({ role: z.enum(['system', 'user', 'assistant']), text, images: z.array(image).max(8).optional() }))
    .min(1)
    .max(500),
  tools: z
    .array(z.strictObject({ name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/), description: text, parameters: z.record(z.string(), z.json()) }))
    .max(64)
    .default([]),
  maxOutputTokens: z.int().min(1).max(1_000_000).optional(),
});

/** Each takes six bytes of the answer at most. */
const MOST_CHARACTERS = 150_000;
const LONGEST_MESSAGE = 20_000;

/**
 * Answers a question of a plugin's process (`questions.py`) about the call that is under way. `model`: the answer of the model. `model-name`: what it is called.
 * `messages`: the newest of what was said in the conversation.
 * @throws Error that the plugin is told
 */
export async function answerQuestion({ what, args: [given], askModel, modelName, saidSoFar }: ServerQuestion): Promise<Json> {
  switch (what) {
    case 'model': {
      const question = modelQuestion.safeParse(given);
      if (!question.success) throw new Error(`the model cannot be asked this: ${z.prettifyError(question.error).slice(0, 300)}`);
      const { maxOutputTokens, messages, tools } = question.data;
      const said = messages.map(({ images, ...message }) => ({ ...message, ...(images && { images }) }));
      const { usage, ...reply } = await askModel({ messages: said, tools, ...(maxOutputTokens !== undefined && { maxOutputTokens }) });
      return { ...reply, usage: { ...usage }, model: modelName };
    }
    case 'model-name':
      return modelName;
    case 'messages':
      return newestOf(await saidSoFar());
    default:
      throw new Error(`there is no question ${JSON.stringify(what.slice(0, 100))}`);
  }
}

/** As many as an answer can hold, oldest first. */
function newestOf(messages: SaidMessage[]): Json[] {
  const newest: SaidMessage[] = [];
  let characters = 0;
  for (const message of messages.toReversed()) {
    const shown = { ...message, text: cutMiddle(message.text, LONGEST_MESSAGE) };
    characters += shown.text.length;
    if (characters > MOST_CHARACTERS) break;
    newest.unshift(shown);
  }
  return newest.map((message) => ({ ...message }));
}

import { z } from 'zod';
import type { Json } from '../../../../contracts/json.ts';
import type { ModelQuestion } from '../../../api/server-question.ts';

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

/** A question to the model, as the process of a plugin has it. @throws Error that the plugin is told */
export function readModelQuestion(given: Json | undefined): ModelQuestion {
  const question = modelQuestion.safeParse(given);
  if (!question.success) throw new Error(`the model cannot be asked this: ${z.prettifyError(question.error).slice(0, 300)}`);
  const { maxOutputTokens, messages, tools } = question.data;
  const said = messages.map(({ images, ...message }) => ({ ...message, ...(images && { images }) }));
  return { messages: said, tools, ...(maxOutputTokens !== undefined && { maxOutputTokens }) };
}

import { z } from 'zod';
import type { ContentPart } from '../../contracts/transcript.ts';
import { tryParseForeign } from '../../contracts/foreign-json.ts';

/** Results of commands and of code that succeeded and printed nothing. Strict: any other field says something that the model has to read. */
const SILENT = z.union([
  z.strictObject({ status: z.literal('exited'), exitCode: z.literal(0), stdout: z.literal(''), stderr: z.literal(''), durationMs: z.number() }),
  z.strictObject({ status: z.literal('finished'), executionCount: z.number().optional(), durationMs: z.number() }),
]);

/**
 * True for a stored result of `code:run` or `shell:run` that has nothing new for the model: the program succeeded and printed nothing, and the value of its
 * last line, if there is one, is one of the texts in `known`.
 */
export function isSilentResult(tool: string, content: ContentPart[], known: string[]): boolean {
  if (tool !== 'code:run' && tool !== 'shell:run') return false;
  const [summary, ...values] = content.map((part) => (part.type === 'text' ? part.text : undefined));
  // Python shows a text in quotes.
  const shown = new Set(known.flatMap((text) => [text, `'${text}'`, `"${text}"`]));
  return summary !== undefined && SILENT.safeParse(tryParseForeign(summary)).success && values.every((value) => value !== undefined && shown.has(value));
}

import { z } from 'zod';
import { tryParseForeign } from '../../contracts/foreign-json.ts';

/** Columns and rows of the largest terminal. */
export const LARGEST = 1000;
const size = z.int().min(1).max(LARGEST);

/** What a client says in texts. Bytes are input. */
const SAID = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('input'), text: z.string() }),
  z.strictObject({ type: z.literal('resize'), columns: size, rows: size }),
  z.strictObject({ type: z.literal('kill') }),
]);
export type Said = z.infer<typeof SAID>;

/** Undefined for what means nothing. */
export function readSaid(text: string): Said | undefined {
  const parsed = SAID.safeParse(tryParseForeign(text));
  return parsed.success ? parsed.data : undefined;
}

import { z } from 'zod';
import { id, name, readOptions } from '../../common/arguments.ts';
import { showValue } from '../../common/show-value.ts';
import { failure } from '../../contracts/errors.ts';
import type { ArchiveSource, ImportOptions } from '../../contracts/imports/import.ts';

const options = z.strictObject({
  conversationId: z.string().optional(),
  agent: name.optional(),
  user: id.optional(),
  tenant: id.optional(),
  files: z.boolean({ error: 'give true or false' }).optional(),
});

export const importOptions = (given: unknown) => readOptions('options of import', options, given) as ImportOptions;

export function archiveOf(given: unknown): ArchiveSource {
  const source = given as Partial<AsyncIterable<Uint8Array>> | null | undefined;
  if (typeof source === 'object' && typeof source?.[Symbol.asyncIterator] === 'function') return given as ArchiveSource;
  throw failure('INVALID_ARGUMENT', { what: 'archive', problem: `it is ${showValue(given)}`, fix: 'Give a stream of bytes, such as createReadStream(file)' });
}

import { types } from 'node:util';
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

/** Checks that a value is a source of bytes, and each of its chunks when it is read. `onError` is told of an error of the source itself. */
export function archiveOf(given: unknown, onError: (error: unknown) => void = () => undefined): ArchiveSource {
  const source = given as Partial<AsyncIterable<unknown>> | null | undefined;
  if (typeof source !== 'object' || typeof source?.[Symbol.asyncIterator] !== 'function') throw refused(given);
  return {
    [Symbol.asyncIterator]: () => {
      const iterator = (given as AsyncIterable<unknown>)[Symbol.asyncIterator]();
      return {
        async next() {
          try {
            const { done, value } = await iterator.next();
            if (done === true) return { done, value: undefined };
            if (typeof value !== 'string' && !types.isUint8Array(value)) throw refused(value);
            return { done: false, value: value as Uint8Array };
          } catch (error) {
            onError(error);
            throw error;
          }
        },
        async return() {
          await iterator.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}

function refused(given: unknown): Error {
  return failure('INVALID_ARGUMENT', { what: 'archive', problem: `it is ${showValue(given)}`, fix: 'Give a stream of bytes, such as createReadStream(file)' });
}

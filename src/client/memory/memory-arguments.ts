import { z } from 'zod';
import { count, id, read, readOptions } from '../../common/arguments.ts';
import { failure } from '../../contracts/errors.ts';
import { PATH_RULE, problemOfContent, problemOfPath } from '../../common/given/memory-path.ts';
import { MEMORY_LIMITS, type MemoryPlace } from '../../contracts/memory/memory.ts';
import type { MemoryOf } from './memory-types.ts';

const of = { tenant: id.optional(), user: id.optional(), agent: id.optional() };
const checked = (problemOf: (text: string) => string | undefined, fix: string) =>
  z.string().superRefine((value, context) => {
    const message = problemOf(value);
    if (message !== undefined) context.addIssue({ code: 'custom', message, params: { fix }, input: value });
  });
const path = checked(problemOfPath, PATH_RULE);
const content = checked(problemOfContent, `Give a text of up to ${MEMORY_LIMITS.fileBytes} bytes (UTF-8)`);

export const pathOf = (given: unknown): string => read('path', path, given);
export const contentOf = (given: unknown): string => read('content', content, given);
export const memoryOf = (what: string, given: unknown) => readOptions(`options of memory.${what}`, z.strictObject(of), given) as MemoryOf;
export const readOptionsOf = (given: unknown) =>
  readOptions('options of memory.read', z.strictObject({ ...of, version: count.optional() }), given) as MemoryOf & { version?: number };
export const writeOptionsOf = (given: unknown) =>
  readOptions('options of memory.write', z.strictObject({ ...of, version: count.optional() }), given) as MemoryOf & { version?: number };
export const deleteOptionsOf = (given: unknown) =>
  readOptions('options of memory.delete', z.strictObject({ ...of, version: count.optional() }), given) as MemoryOf & { version?: number };

/** @throws INVALID_ARGUMENT when a user and an agent are given */
export function placeOf({ tenant: tenantId = 'default', user, agent }: MemoryOf): MemoryPlace {
  if (user !== undefined && agent !== undefined) {
    const fix = 'Give one of them, or neither for the memory of the tenant';
    throw failure('INVALID_ARGUMENT', { what: 'options of memory', problem: 'it names a user and an agent', fix });
  }
  if (user !== undefined) return { tenantId, scope: 'user', owner: user };
  return agent === undefined ? { tenantId, scope: 'tenant', owner: '' } : { tenantId, scope: 'agent', owner: agent };
}

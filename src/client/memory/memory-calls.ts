import type { AuditSource } from '../../contracts/audit.ts';
import { failure, isFailure } from '../../contracts/errors.ts';
import { MEMORY_LIMITS, type MemoryChange, type MemoryPlace, type MemoryVersion } from '../../contracts/memory/memory.ts';
import { utf8Length } from '../../common/given/memory-path.ts';
import { pseudonymOf } from '../../platform/pseudonym.ts';
import type { MemoryRows } from '../../store/memory/memory.ts';
import { contentOf, deleteOptionsOf, memoryOf, pathOf, placeOf, readOptionsOf, writeOptionsOf } from './memory-arguments.ts';
import type { Memory } from './memory-types.ts';

/** How often a file is removed that others change meanwhile. */
const MOST_ATTEMPTS = 10;
const UNITS = { files: 'files', bytes: 'bytes in all files together' } as const;

export function createMemoryCalls({ memory }: { memory: MemoryRows }, by: AuditSource): Memory {
  const change = async (place: MemoryPlace, changed: Omit<MemoryChange, 'by'>): Promise<MemoryVersion> => {
    const { actor } = by;
    const writer = { kind: actor.kind, id: actor.id };
    const { path, content, version: given } = changed;
    const outcome = await memory.write(
      place,
      { ...changed, by: { ...writer, ...(actor.kind === 'oidc' && { userId: actor.id }) } },
      { source: by, target: targetOf(place) },
    );
    switch (outcome.outcome) {
      case 'written': {
        const { version, at } = outcome;
        return { path, version, bytes: utf8Length(content ?? ''), at, by: writer, ...(content === null && { removed: true as const }) };
      }
      case 'conflict':
        if (content === null && outcome.version === 0) throw notFound(path);
        throw failure('MEMORY_CONFLICT', { path, version: outcome.version, given });
      default:
        throw failure('MEMORY_FULL', { path, limit: MEMORY_LIMITS[outcome.outcome], unit: UNITS[outcome.outcome] });
    }
  };
  const removeAny = async (place: MemoryPlace, path: string, attempt = 1): Promise<MemoryVersion> => {
    const current = (await memory.read(place, path))?.version ?? 0;
    return change(place, { path, content: null, version: current }).catch((error: unknown) => {
      if (isFailure(error, 'MEMORY_CONFLICT') && attempt < MOST_ATTEMPTS) return removeAny(place, path, attempt + 1);
      throw error;
    });
  };
  return {
    list: async (of) => memory.list(placeOf(memoryOf('list', of))),
    async read(path, options) {
      const { version, ...of } = readOptionsOf(options);
      const wanted = pathOf(path);
      const found = await memory.read(placeOf(of), wanted, version);
      if (found) return found;
      throw notFound(wanted, version);
    },
    async write(path, content, options) {
      const { version = 0, ...of } = writeOptionsOf(options);
      return change(placeOf(of), { path: pathOf(path), content: contentOf(content), version });
    },
    async delete(path, options) {
      const { version, ...of } = deleteOptionsOf(options);
      const [place, wanted] = [placeOf(of), pathOf(path)];
      return version === undefined ? removeAny(place, wanted) : change(place, { path: wanted, content: null, version });
    },
    async history(path, of) {
      const wanted = pathOf(path);
      const versions = await memory.history(placeOf(memoryOf('history', of)), wanted);
      if (versions.length > 0) return versions;
      throw notFound(wanted);
    },
  };
}

function notFound(path: string, version?: number): Error {
  return failure('MEMORY_FILE_NOT_FOUND', { what: version === undefined ? `file "${path}"` : `version ${version} of a file "${path}"` });
}

/** The id of a user is not written into the audit log, since the log cannot be erased. */
function targetOf({ tenantId, scope, owner }: MemoryPlace): string {
  if (scope === 'user') return pseudonymOf({ tenantId, userId: owner });
  return scope === 'tenant' ? tenantId : owner;
}

import { createMemoryCalls } from '../../../src/client/memory/memory-calls.ts';
import type { AuditSource } from '../../../src/contracts/audit.ts';
import type { MemoryOutcome } from '../../../src/contracts/memory/memory.ts';
import type { MemoryRows } from '../../../src/store/memory/memory.ts';

const by: AuditSource = { actor: { kind: 'login', id: 'ann' } };

/** A memory with one file, into which somebody else writes so often between the read and the change of a caller. */
function memoryWith(writes: number) {
  let [version, left] = [1, writes];
  const rows: Pick<MemoryRows, 'read' | 'write'> = {
    async read(_place, path) {
      return { path, version, bytes: 1, at: '', by: { kind: 'login', id: 'ann' }, content: 'x' };
    },
    async write(_place, change): Promise<MemoryOutcome> {
      if (left > 0) {
        left -= 1;
        version += 1;
      }
      if (change.version !== version) return { outcome: 'conflict', version };
      version += 1;
      return { outcome: 'written', version, at: '' };
    },
  };
  return createMemoryCalls({ memory: rows as MemoryRows }, by);
}
const of = { user: 'user-1' };

test('a file is removed as it is then, unless a version is given', async () => {
  expect(await memoryWith(2).delete('a.md', of)).toMatchObject({ version: 4, removed: true });
  await expect(memoryWith(1).delete('a.md', { ...of, version: 1 })).rejects.toMatchObject({ code: 'MEMORY_CONFLICT' });
});

test('a file that others write without end is not waited for without end', async () => {
  await expect(memoryWith(Infinity).delete('a.md', of)).rejects.toMatchObject({ code: 'MEMORY_CONFLICT' });
});

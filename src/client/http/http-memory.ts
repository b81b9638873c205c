import { withoutUndefined } from '../../common/without-undefined.ts';
import type { MemoryContent, MemoryFile, MemoryVersion } from '../../contracts/memory/memory.ts';
import { contentOf, deleteOptionsOf, memoryOf, pathOf, placeOf, readOptionsOf, writeOptionsOf } from '../memory/memory-arguments.ts';
import type { Memory, MemoryOf } from '../memory/memory-types.ts';
import type { HttpLink } from './http-link.ts';

/** Refuses what the service would refuse, as the client without HTTP does. */
function checked<Of extends MemoryOf>(of: Of): Of {
  placeOf(of);
  return of;
}

function asked({ version, ...of }: MemoryOf & { version?: number }): string {
  return new URLSearchParams(withoutUndefined({ ...checked(of), version: version?.toString() })).toString();
}

function at(kind: 'files' | 'history', path: unknown): string {
  return `/v1/memory/${kind}/${pathOf(path).split('/').map(encodeURIComponent).join('/')}`;
}

export function createHttpMemory(link: HttpLink): Memory {
  return {
    list: async (of) => ((await link.json(`/v1/memory?${asked(memoryOf('list', of))}`)) as { files: MemoryFile[] }).files,
    async read(path, options) {
      const query = asked(readOptionsOf(options));
      return (await link.json(`${at('files', path)}?${query}`)) as MemoryContent;
    },
    async write(path, content, options) {
      const body = { ...checked(writeOptionsOf(options)), content: contentOf(content) };
      return (await link.json(at('files', path), { method: 'PUT', body })) as MemoryVersion;
    },
    async delete(path, options) {
      const query = asked(deleteOptionsOf(options));
      return (await link.json(`${at('files', path)}?${query}`, { method: 'DELETE' })) as MemoryVersion;
    },
    async history(path, of) {
      const query = asked(memoryOf('history', of));
      return ((await link.json(`${at('history', path)}?${query}`)) as { versions: MemoryVersion[] }).versions;
    },
  };
}

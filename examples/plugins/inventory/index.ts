/** What lies in a directory of the sandbox. */
import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { definePlugin, defineTool } from 'longshore/plugins';
import { z } from 'zod';

type Kind = {
  extension: string;
  files: number;
  bytes: number;
  lines: number;
};

const SKIPPED = new Set(['.git', 'node_modules']);
const LARGEST = 5;

export default definePlugin({
  id: 'inventory',
  version: '1.0.0',
  description: 'What lies in a directory',
  tools: [
    defineTool({
      id: 'survey',
      description: 'Counts files, bytes and lines below a directory by their extensions, and names the largest files. Leaves out .git and node_modules.',
      parameters: z.object({ directory: z.string().default('.').describe('Relative ones start at /home/user.') }),
      annotations: { readOnlyHint: true },
      isolation: 'container',
      timeoutMs: 300_000,
      summarize: ({ directory }) => directory,
      async execute({ directory }, { heartbeat }) {
        const kinds = new Map<string, Kind>();
        const sizes: { path: string; bytes: number }[] = [];
        for await (const path of filesBelow(directory)) {
          const { size } = await stat(path);
          const extension = extname(path) || '(none)';
          const { files, bytes, lines } = kinds.get(extension) ?? { files: 0, bytes: 0, lines: 0 };
          kinds.set(extension, { extension, files: files + 1, bytes: bytes + size, lines: lines + (await countLines(path)) });
          sizes.push({ path, bytes: size });
          if (sizes.length % 1_000 === 0) heartbeat(`${sizes.length} files`);
        }
        return { kinds: largestFirst([...kinds.values()]), largest: largestFirst(sizes).slice(0, LARGEST) };
      },
    }),
  ],
});

async function* filesBelow(directory: string): AsyncGenerator<string> {
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isFile()) yield path;
    else if (entry.isDirectory() && !SKIPPED.has(entry.name)) yield* filesBelow(path);
  }
}

/** The Node of the sandbox has no toSorted. */
function largestFirst<Sized extends { bytes: number }>(list: Sized[]): Sized[] {
  // oxlint-disable-next-line unicorn/no-array-sort -- see above
  return list.sort((a, b) => b.bytes - a.bytes);
}

async function countLines(path: string): Promise<number> {
  let lines = 0;
  for await (const chunk of createReadStream(path)) for (const byte of chunk as Buffer) if (byte === 10) lines += 1;
  return lines;
}

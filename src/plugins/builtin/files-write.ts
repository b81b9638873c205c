import { z } from 'zod';
import { readProgram } from '../../platform/read-program.ts';
import { fileTool, path } from './file-tool.ts';

const MAX_CHARACTERS = 500_000;

export const writeFile = fileTool({
  id: 'write',
  description: 'Writes a text file of the sandbox, whole; directories that are missing are made. To change a part of a file, use files:edit.',
  parameters: z.strictObject({ path, content: z.string().max(MAX_CHARACTERS) }),
  annotations: { title: 'Write a file', idempotentHint: true, destructiveHint: true },
  program: readProgram(import.meta.url, 'programs/files_write.py'),
  answer: z.object({ bytes: z.int(), existed: z.boolean() }),
  present: ({ bytes, existed }, input) => `${existed ? 'Replaced' : 'Wrote'} ${input.path} (${bytes} bytes).`,
});

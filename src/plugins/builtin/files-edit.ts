import { z } from 'zod';
import { readProgram } from '../../platform/read-program.ts';
import { fileTool, path } from './file-tool.ts';

export const editFile = fileTool({
  id: 'edit',
  description: 'Replaces one piece of text in a file of the sandbox. oldText must be there exactly once.',
  parameters: z.strictObject({
    path,
    oldText: z.string().min(1).max(100_000).describe('The text to replace, exactly as in the file.'),
    newText: z.string().max(100_000).describe('The text to put there; empty removes it.'),
  }),
  annotations: { title: 'Edit a file', destructiveHint: true },
  program: readProgram(import.meta.url, 'programs/files_edit.py'),
  answer: z.object({ line: z.int() }),
  present: ({ line }, input) => `Changed ${input.path} at line ${line}.`,
});

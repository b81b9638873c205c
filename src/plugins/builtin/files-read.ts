import { z } from 'zod';
import { readProgram } from '../../platform/read-program.ts';
import { fileTool, path } from './file-tool.ts';

const MAX_LINES = 2000;

export const readFile = fileTool({
  id: 'read',
  description: 'Reads a text file of the sandbox. Long files come in pages; the end of a page says how to go on.',
  parameters: z.strictObject({
    path,
    offsetLines: z.int().min(0).default(0).describe('Lines to skip.'),
    limitLines: z.int().min(1).max(MAX_LINES).default(MAX_LINES).describe(`Lines to read, at most ${MAX_LINES}.`),
  }),
  annotations: { title: 'Read a file', readOnlyHint: true },
  program: readProgram(import.meta.url, 'programs/files_read.py'),
  answer: z.object({ text: z.string(), first: z.int(), count: z.int(), total: z.int() }),
  present({ text, first, count, total }) {
    if (total === 0) return '[the file is empty]';
    const next = first + count;
    if (first === 0 && next === total) return text;
    const more = next < total ? `; go on with offsetLines ${next}` : '; this is the end';
    return `${text}${text.endsWith('\n') ? '' : '\n'}[lines ${first + 1} to ${next} of ${total}${more}]`;
  },
});

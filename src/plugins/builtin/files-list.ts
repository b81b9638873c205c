import { z } from 'zod';
import { readProgram } from '../../platform/read-program.ts';
import { fileTool, path } from './file-tool.ts';

export const listFiles = fileTool({
  id: 'list',
  description: 'Lists a directory of the sandbox: directories end in "/", files have their size, links their target. At most 500 entries.',
  parameters: z.strictObject({
    path: path.default('/home/user'),
    recursive: z.boolean().default(false).describe('Also what is below; .git, node_modules and the like are not looked into.'),
  }),
  annotations: { title: 'List a directory', readOnlyHint: true },
  program: readProgram(import.meta.url, 'programs/files_list.py'),
  answer: z.object({ lines: z.array(z.string()), left: z.int(), countedAll: z.boolean() }),
  present({ lines, left, countedAll }) {
    if (lines.length === 0) return '[the directory is empty]';
    const rest = `[${countedAll ? '' : 'at least '}${left} more entries left out; list a directory below, or use files:search]`;
    return lines.join('\n') + (left > 0 ? `\n${rest}` : '');
  },
});

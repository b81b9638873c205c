import { z } from 'zod';
import { readProgram } from '../../platform/read-program.ts';
import { fileTool, path } from './file-tool.ts';

const MOST_MATCHES = 500;

export const searchFiles = fileTool({
  id: 'search',
  description:
    'Searches the files of the sandbox with ripgrep and gives file:line:text for each match. Hidden files, binary files and those in .gitignore are left out.',
  parameters: z.strictObject({
    pattern: z.string().min(1).max(10_000).describe('A regular expression (Rust syntax).'),
    path: path.default('/home/user').describe('File or directory to search. Default /home/user.'),
    glob: z.string().max(1000).default('').describe('Only files that fit, such as *.py.'),
    ignoreCase: z.boolean().default(false),
    fixed: z.boolean().default(false).describe('Take the pattern as plain text.'),
    limit: z.int().min(1).max(MOST_MATCHES).default(100).describe(`Matches to give, at most ${MOST_MATCHES}.`),
  }),
  annotations: { title: 'Search files', readOnlyHint: true },
  program: readProgram(import.meta.url, 'programs/files_search.py'),
  answer: z.object({ lines: z.array(z.string()), left: z.int(), countedAll: z.boolean(), unread: z.array(z.string()), unreadCount: z.int() }),
  present({ lines, left, countedAll, unread, unreadCount }, { limit }) {
    const notes: string[] = [];
    if (left > 0) {
      const raise = lines.length === limit && limit < MOST_MATCHES ? `, or give a limit of up to ${MOST_MATCHES}` : '';
      notes.push(`[${countedAll ? '' : 'more than '}${left} more matches left out; narrow the pattern, the path or the glob${raise}]`);
    }
    if (unreadCount > 0) {
      const others = unreadCount > unread.length ? ` and ${unreadCount - unread.length} more` : '';
      notes.push(`[not searched, since they cannot be read: ${unread.join('; ')}${others}]`);
    }
    return [...(lines.length === 0 ? ['[no matches]'] : lines), ...notes].join('\n');
  },
});

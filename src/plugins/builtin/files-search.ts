import { z } from 'zod';
import { fileTool, path } from './file-tool.ts';

/** ripgrep is ended as soon as there is enough; its exit code 1 only says that nothing was found. */
const PROGRAM = `
import subprocess
MAX_BYTES = 24000
if not os.path.exists(arguments['path']):
    refuse(arguments['path'] + ': no such file or directory')
command = ['rg', '--no-config', '--line-number', '--with-filename', '--no-heading', '--color=never', '--no-messages', '--sort=path',
           '--max-columns=300', '--max-columns-preview']
if arguments['glob']:
    command += ['--glob', arguments['glob']]
if arguments['ignoreCase']:
    command += ['--ignore-case']
if arguments['fixed']:
    command += ['--fixed-strings']
command += ['--regexp', arguments['pattern'], '--', arguments['path']]
lines, size, more = [], 0, False
with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as search:
    for raw in search.stdout:
        if len(lines) == arguments['limit'] or size > MAX_BYTES:
            more = True
            search.kill()
            break
        line = raw.decode(errors='replace').rstrip('\\n')
        lines.append(line)
        size += len(line.encode()) + 1
    problem = search.stderr.read(2000).decode(errors='replace').strip()
if search.returncode == 2 and not lines:
    refuse(problem or 'the search failed')
answer(lines=lines, more=more)
`;

export const searchFiles = fileTool({
  id: 'search',
  description: 'Searches the files of the sandbox with ripgrep and gives file:line:text for each match. Hidden files and those in .gitignore are left out.',
  parameters: z.strictObject({
    pattern: z.string().min(1).max(10_000).describe('A regular expression (Rust syntax).'),
    path: path.default('/home/user').describe('File or directory to search. Default /home/user.'),
    glob: z.string().max(1000).default('').describe('Only files that fit, such as *.py.'),
    ignoreCase: z.boolean().default(false),
    fixed: z.boolean().default(false).describe('Take the pattern as plain text.'),
    limit: z.int().min(1).max(500).default(100).describe('Matches to give.'),
  }),
  annotations: { title: 'Search files', readOnlyHint: true },
  program: PROGRAM,
  answer: z.object({ lines: z.array(z.string()), more: z.boolean() }),
  present({ lines, more }) {
    if (lines.length === 0) return '[no matches]';
    return lines.join('\n') + (more ? `\n[cut after ${lines.length} matches; narrow the search]` : '');
  },
});

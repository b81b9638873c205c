import { z } from 'zod';
import { fileTool, path } from './file-tool.ts';

/** ripgrep is ended as soon as there is enough; its exit code 1 only says that nothing was found. Python's subprocess would take longer to load than most searches. */
const PROGRAM = `
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
found, stdout = os.pipe()
said, stderr = os.pipe()
streams = [(os.POSIX_SPAWN_OPEN, 0, '/dev/null', os.O_RDONLY, 0), (os.POSIX_SPAWN_DUP2, stdout, 1), (os.POSIX_SPAWN_DUP2, stderr, 2)]
search = os.posix_spawnp('rg', command, os.environ, file_actions=streams)
os.close(stdout)
os.close(stderr)
with open(found, 'rb') as output, open(said, 'rb') as complaints:
    for raw in output:
        if len(lines) == arguments['limit'] or size > MAX_BYTES:
            more = True
            os.kill(search, 9)
            break
        line = raw.decode(errors='replace').rstrip('\\n')
        lines.append(line)
        size += len(line.encode()) + 1
    problem = complaints.read(2000).decode(errors='replace').strip()
if os.waitstatus_to_exitcode(os.waitpid(search, 0)[1]) == 2 and not lines:
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

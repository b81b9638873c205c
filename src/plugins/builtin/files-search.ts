import { z } from 'zod';
import { fileTool, path } from './file-tool.ts';

const MOST_MATCHES = 500;

/**
 * Matches beyond the limit are only counted, for a limited time. ripgrep's exit code 1 means only that nothing was found. 2 means that something could not be
 * read, or that the search is invalid. The program does not use Python's subprocess, which takes longer to load than most searches.
 */
const PROGRAM = `
import time
MAX_BYTES, MAX_COUNTED, MAX_SECONDS, NAMED = 24000, 100000, 5, 5
if not os.path.exists(arguments['path']):
    refuse(shown(arguments['path']) + ': no such file or directory')
command = ['rg', '--no-config', '--line-number', '--with-filename', '--null', '--no-heading', '--color=never', '--no-ignore-messages', '--sort=path',
           '--max-columns=300', '--max-columns-preview']
if arguments['glob']:
    command += ['--glob', arguments['glob']]
if arguments['ignoreCase']:
    command += ['--ignore-case']
if arguments['fixed']:
    command += ['--fixed-strings']
command += ['--regexp', arguments['pattern'], '--', arguments['path']]
lines, size, left, counted_all, pending = [], 0, 0, True, b''
found, stdout = os.pipe()
# Not a pipe: whoever fills one waits for its reader.
stderr = os.memfd_create('complaints')
streams = [(os.POSIX_SPAWN_OPEN, 0, '/dev/null', os.O_RDONLY, 0), (os.POSIX_SPAWN_DUP2, stdout, 1), (os.POSIX_SPAWN_DUP2, stderr, 2)]
search = os.posix_spawnp('rg', command, os.environ, file_actions=streams)
os.close(stdout)
limit = time.monotonic() + MAX_SECONDS
with open(found, 'rb') as output:
    for raw in output:
        pending += raw
        path, mark, text = pending.partition(b'\\0')
        # A name may have line breaks; what is said of a binary file has no mark.
        if not mark and b': binary file matches (found ' not in pending:
            continue
        pending = b''
        line = (shown(path.decode('utf-8', 'surrogateescape')) + ':' if mark else '') + (text if mark else path).decode(errors='replace').rstrip('\\n')
        if left or len(lines) == arguments['limit'] or size > MAX_BYTES:
            left += 1
            if left >= MAX_COUNTED or time.monotonic() > limit:
                counted_all = False
                os.kill(search, 9)
                break
            continue
        lines.append(line)
        size += len(line.encode()) + 1
status = os.waitstatus_to_exitcode(os.waitpid(search, 0)[1])
os.lseek(stderr, 0, os.SEEK_SET)
with open(stderr, 'rb') as complaints:
    said = complaints.read(MAX_FILE_BYTES).decode(errors='replace').splitlines()
unread = [line[4:] if line.startswith('rg: ') else line for line in said if '(os error ' in line]
if status == 2 and not lines and not unread:
    refuse('\\n'.join(said).strip()[:2000] or 'the search failed')
def brief(line):
    # ripgrep names a directory twice.
    name, _, problem = line.partition(': ')
    return (name + ': ' + problem[problem.find(name + ': ') + len(name) + 2:] if name + ': ' in problem else line)[:300]

answer(lines=lines, left=left, countedAll=counted_all, unread=[brief(line) for line in unread[:NAMED]], unreadCount=len(unread))
`;

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
  program: PROGRAM,
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

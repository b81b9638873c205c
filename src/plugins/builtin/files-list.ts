import { z } from 'zod';
import { fileTool, path } from './file-tool.ts';

const PROGRAM = `
MAX_ENTRIES = 500
SKIPPED = {'.git', 'node_modules', '__pycache__', '.venv'}
root, recursive = arguments['path'], arguments['recursive']
lines, more = [], False

def walk(directory, prefix):
    global more
    with os.scandir(directory) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        if len(lines) == MAX_ENTRIES:
            more = True
            return
        name = (prefix + entry.name).encode(errors='replace').decode()
        if entry.is_symlink():
            lines.append(name + ' -> ' + os.readlink(entry.path).encode(errors='replace').decode())
        elif entry.is_dir(follow_symlinks=False):
            skipped = recursive and entry.name in SKIPPED
            lines.append(name + '/' + (' (not looked into)' if skipped else ''))
            if recursive and not skipped:
                try:
                    walk(entry.path, prefix + entry.name + '/')
                except OSError as error:
                    lines[-1] += ' (' + (error.strerror or 'unreadable') + ')'
        else:
            lines.append(name + '  ' + str(entry.stat(follow_symlinks=False).st_size) + ' bytes')

try:
    walk(root, '')
except OSError as error:
    refuse_error(root, error)
answer(lines=lines, more=more)
`;

export const listFiles = fileTool({
  id: 'list',
  description: 'Lists a directory of the sandbox: directories end in "/", files have their size, links their target. At most 500 entries.',
  parameters: z.strictObject({
    path: path.default('/home/user'),
    recursive: z.boolean().default(false).describe('Also what is below; .git, node_modules and the like are not looked into.'),
  }),
  annotations: { title: 'List a directory', readOnlyHint: true },
  program: PROGRAM,
  answer: z.object({ lines: z.array(z.string()), more: z.boolean() }),
  present({ lines, more }) {
    if (lines.length === 0) return '[the directory is empty]';
    return lines.join('\n') + (more ? `\n[cut after ${lines.length} entries; list a directory below, or use files:search]` : '');
  },
});

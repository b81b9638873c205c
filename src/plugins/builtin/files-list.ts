import { z } from 'zod';
import { fileTool, path } from './file-tool.ts';

/** Entries beyond MAX_ENTRIES are only counted, up to MAX_COUNTED. */
const PROGRAM = `
MAX_ENTRIES, MAX_COUNTED = 500, 100000
SKIPPED = {'.git', 'node_modules', '__pycache__', '.venv'}
root, recursive = arguments['path'], arguments['recursive']
lines, left = [], 0

class Enough(Exception):
    pass

def describe(entry, prefix):
    name = shown(prefix + entry.name)
    try:
        if entry.is_symlink():
            return name + ' -> ' + shown(os.readlink(entry.path))
        if entry.is_dir(follow_symlinks=False):
            return name + '/' + (' (not looked into)' if recursive and entry.name in SKIPPED else '')
        return name + '  ' + str(entry.stat(follow_symlinks=False).st_size) + ' bytes'
    except OSError as error:
        return name + ' (' + (error.strerror or 'unreadable') + ')'

def walk(directory, prefix):
    global left
    with os.scandir(directory) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        if len(lines) < MAX_ENTRIES:
            at = len(lines)
            lines.append(describe(entry, prefix))
        else:
            at = None
            left += 1
            if left >= MAX_COUNTED:
                raise Enough
        if recursive and entry.name not in SKIPPED and entry.is_dir(follow_symlinks=False):
            try:
                walk(entry.path, prefix + entry.name + '/')
            except (OSError, RecursionError) as error:
                if at is not None:
                    lines[at] += ' (' + (getattr(error, 'strerror', None) or 'too deep') + ')'

try:
    walk(root, '')
except Enough:
    pass
except OSError as error:
    refuse_error(root, error)
answer(lines=lines, left=left, countedAll=left < MAX_COUNTED)
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
  answer: z.object({ lines: z.array(z.string()), left: z.int(), countedAll: z.boolean() }),
  present({ lines, left, countedAll }) {
    if (lines.length === 0) return '[the directory is empty]';
    const rest = `[${countedAll ? '' : 'at least '}${left} more entries left out; list a directory below, or use files:search]`;
    return lines.join('\n') + (left > 0 ? `\n${rest}` : '');
  },
});

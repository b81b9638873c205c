import { z } from 'zod';
import { fileTool, path } from './file-tool.ts';

/** Works on bytes, so that only the replaced text changes, and no line ends or encoding. */
const PROGRAM = `
name = arguments['path']
data = read_text(name)
old, new = arguments['oldText'].encode(), arguments['newText'].encode()
found, at = [], data.find(old)
while at != -1 and len(found) < 1000:
    found.append(at)
    at = data.find(old, at + 1)
if not found:
    if old.replace(b'\\r\\n', b'\\n') in data.replace(b'\\r\\n', b'\\n'):
        refuse(name + ': oldText is there, but with other line ends (CRLF); the file was not changed')
    refuse(name + ': oldText is not in the file; it was not changed. Read the file and copy the text exactly, spaces and line breaks included')
lines = [data.count(b'\\n', 0, at) + 1 for at in found]
if len(found) > 1:
    shown = ', '.join(map(str, lines[:10])) + (', …' if len(lines) > 10 else '')
    refuse(name + ': oldText is there ' + str(len(found)) + ' times (lines ' + shown + '); the file was not changed. Give more of the text around it')
write_atomically(name, data[:found[0]] + new + data[found[0] + len(old):])
answer(line=lines[0])
`;

export const editFile = fileTool({
  id: 'edit',
  description: 'Replaces one piece of text in a file of the sandbox. oldText must be there exactly once.',
  parameters: z.strictObject({
    path,
    oldText: z.string().min(1).max(100_000).describe('The text to replace, exactly as in the file.'),
    newText: z.string().max(100_000).describe('The text to put there; empty removes it.'),
  }),
  annotations: { title: 'Edit a file', destructiveHint: true },
  program: PROGRAM,
  answer: z.object({ line: z.int() }),
  present: ({ line }, input) => `Changed ${input.path} at line ${line}.`,
});

import { z } from 'zod';
import { fileTool, path } from './file-tool.ts';

const MAX_LINES = 2000;

/** Pages end at a line and stay below the limit of a tool result. A line longer than a page is cut, and a note in it says so. */
const PROGRAM = `
PAGE_BYTES = 28000
data = read_text(arguments['path'])
lines = [line + '\\n' for line in data.decode(errors='replace').split('\\n')]
lines[-1] = lines[-1][:-1]
if not lines[-1]:
    lines.pop()
first = arguments['offsetLines']
if first > 0 and first >= len(lines):
    refuse(arguments['path'] + ': has only ' + str(len(lines)) + ' lines')
taken, size = [], 0
for line in lines[first:first + arguments['limitLines']]:
    length = len(line.encode())
    if taken and size + length > PAGE_BYTES:
        break
    if length > PAGE_BYTES:
        line = line.encode()[:PAGE_BYTES].decode(errors='ignore')
        rest = 'sed -n ' + str(first + len(taken) + 1) + 'p FILE | tail -c +' + str(len(line.encode()) + 1)
        line += ' [line cut: ' + str(length) + ' bytes; for the rest use shell:run: ' + rest + ']\\n'
    taken.append(line)
    size += length
answer(text=''.join(taken), first=first, count=len(taken), total=len(lines))
`;

export const readFile = fileTool({
  id: 'read',
  description: 'Reads a text file of the sandbox. Long files come in pages; the end of a page says how to go on.',
  parameters: z.strictObject({
    path,
    offsetLines: z.int().min(0).default(0).describe('Lines to skip.'),
    limitLines: z.int().min(1).max(MAX_LINES).default(MAX_LINES).describe(`Lines to read, at most ${MAX_LINES}.`),
  }),
  annotations: { title: 'Read a file', readOnlyHint: true },
  program: PROGRAM,
  answer: z.object({ text: z.string(), first: z.int(), count: z.int(), total: z.int() }),
  present({ text, first, count, total }) {
    if (total === 0) return '[the file is empty]';
    const next = first + count;
    if (first === 0 && next === total) return text;
    const more = next < total ? `; go on with offsetLines ${next}` : '; this is the end';
    return `${text}${text.endsWith('\n') ? '' : '\n'}[lines ${first + 1} to ${next} of ${total}${more}]`;
  },
});

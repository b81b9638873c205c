import { z } from 'zod';
import { fileTool, path } from './file-tool.ts';

const MAX_CHARACTERS = 500_000;

const PROGRAM = `
data = arguments['content'].encode()
existed = os.path.exists(arguments['path'])
write_atomically(arguments['path'], data)
answer(bytes=len(data), existed=existed)
`;

export const writeFile = fileTool({
  id: 'write',
  description: 'Writes a text file of the sandbox, whole; directories that are missing are made. To change a part of a file, use files:edit.',
  parameters: z.strictObject({ path, content: z.string().max(MAX_CHARACTERS) }),
  annotations: { title: 'Write a file', idempotentHint: true, destructiveHint: true },
  program: PROGRAM,
  answer: z.object({ bytes: z.int(), existed: z.boolean() }),
  present: ({ bytes, existed }, input) => `${existed ? 'Replaced' : 'Wrote'} ${input.path} (${bytes} bytes).`,
});

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installAgents, resultsOf, type Installation } from './support.ts';

let directory: string;
let installation: Installation;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longshore-compartment-'));
  await writeFile(
    join(directory, 'index.ts'),
    `import { definePlugin, defineTool } from 'longshore/plugins';
     import { z } from 'zod';
     export default definePlugin({ id: 'notes', tools: [defineTool({
       id: 'count', description: 'Counts', parameters: z.object({ text: z.string() }),
       async execute({ text }: { text: string }, context) { await context.note('counting'); return { length: text.length, process: typeof process, ids: context.callId.slice(0, 5) }; } })] });`,
  );
  const call = { call: 'notes:count', with: { text: 'four' }, expect: { length: 4, process: 'undefined', ids: 'call_' } };
  installation = await installAgents({ counter: { plugins: [directory], tools: ['notes:*'], steps: [call, { say: 'Counted.' }] } });
  await installation.startWorker().ready;
});
afterAll(async () => {
  await installation[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});

test('a conversation calls a tool of a plugin that the worker fenced off', async () => {
  const chat = await installation.longshore.start({ agent: 'counter', user: 'user-1', message: 'Count.' });
  expect(await chat.reply()).toBe('Counted.');
  expect(await resultsOf(chat)).toEqual([{ length: 4, process: 'undefined', ids: 'call_' }]);
});

import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { installAgents, type Installation } from '../support.ts';
import { archiveOf } from './make-archive.ts';
import { HI } from './refused-archives.ts';

/** Whatever models and plugins have said, an import takes what an export has written. */
const NAMES = ['no:such\n\u0007tool', 'x'.repeat(600)];

let installation: Installation;
beforeAll(async () => {
  installation = await installAgents({
    talker: { steps: [...NAMES.map((call) => ({ call })), { say: 'I give up.' }] },
  });
  await installation.startWorker().ready;
}, 180_000);
afterAll(async () => installation?.[Symbol.asyncDispose](), 180_000);

test('a transcript with calls of tools that no plugin has is exported and imported', async () => {
  const source = await installation.longshore.start({ agent: 'talker', user: 'user-1', message: 'Go.' });
  expect(await source.reply()).toBe('I give up.');
  const archive = await buffer(await source.export({ files: false }));
  const { chat } = await installation.longshore.import(Readable.from([archive]));
  expect((await chat.transcript()).slice(0, -1)).toEqual(await source.transcript());
}, 120_000);

test.each([
  ['a tool without a name', { role: 'assistant', parts: [{ type: 'tool-call', callId: 'call_1', tool: '', arguments: {} }] }],
  [
    'parts with more fields',
    { role: 'tool', callId: 'call_1', tool: 'a:b', isError: false, content: [{ type: 'text', text: 'x', annotations: { audience: [] } }] },
  ],
  [
    'an image without a type',
    { role: 'tool', callId: 'call_1', tool: 'a:b', isError: false, content: [{ type: 'image', mediaType: '', data: 'AAAA', name: 'a' }] },
  ],
  [
    'a file with a long name',
    { role: 'tool', callId: 'call_1', tool: 'a:b', isError: false, content: [{ type: 'file', mediaType: 'a/b', data: 'AAAA', name: 'n'.repeat(600) }] },
  ],
])('a transcript is imported that has %s', async (_what, entry) => {
  const { chat } = await installation.longshore.import(Readable.from([await archiveOf([HI, entry])]));
  expect((await chat.transcript())[1]?.entry).toEqual(entry);
});

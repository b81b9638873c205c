import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { connect } from '../../../src/client.ts';
import type { ConversationEvent } from '../../../src/contracts/events.ts';
import { startApi } from '../../api/support.ts';
import { installAgents, untilEvent, type Installation, type ScriptedAgent, type ScriptedStep } from '../support.ts';

let installation: Installation;
beforeAll(async () => {
  const read = async (path: string) => parse(await readFile(join('examples/agents', path), 'utf8')) as Record<string, unknown>;
  const { tools, approval, context } = await read('archivist.yaml');
  const { steps } = (await read('scripts/archivist.yaml')) as { steps: ScriptedStep[] };
  const archivist: ScriptedAgent = { tools, approval, context, steps };
  const long: ScriptedStep[] = [{ call: 'shell:run', with: { command: 'seq 1 1000' } }, { say: 'Counted.' }];
  installation = await installAgents({ archivist, counter: { tools: ['shell:run'], context: { window: 100_000 }, steps: [...long, ...long] } });
  await installation.startWorker().ready;
}, 180_000);
afterAll(() => installation[Symbol.asyncDispose](), 180_000);

const isCompacted = ({ type }: ConversationEvent) => type === 'context.compacted';

test('the example leaves out a long result when its window is full, and reads it again', async () => {
  await using chat = await installation.longshore.start({ agent: 'archivist', user: 'ann', message: 'What is the mooring code?' });
  expect(await chat.reply()).toBe('The mooring code is 4711.');
  expect(await untilEvent(chat, isCompacted)).toMatchObject({ data: { reason: 'full', stage: 'outputs', outputsTo: 3 } });
  const roles = (await chat.transcript()).map(({ entry }) => entry.role);
  expect(roles).toEqual(['user', 'assistant', 'tool', 'assistant', 'tool', 'assistant', 'tool', 'assistant']);
  await chat.close();
}, 120_000);

test('a client compacts a conversation that waits, and a client over HTTP takes it back', async () => {
  await using service = await startApi(installation);
  await using remote = await connect({ url: service.url, apiKey: (await service.key()).authorization.slice('Bearer '.length) });
  await using chat = await installation.longshore.start({ agent: 'counter', user: 'ann', message: 'Count.' });
  expect(await chat.reply()).toBe('Counted.');
  await chat.send('Count again.');
  expect(await chat.reply()).toBe('Counted.');
  await chat.compact();
  const compacted = await untilEvent(chat, isCompacted);
  expect(compacted).toMatchObject({ data: { reason: 'operator', stage: 'outputs', outputsTo: 4 } });
  await remote.compact(chat.id, { undo: true });
  const restored = await untilEvent(chat, ({ type }) => type === 'context.restored');
  expect(restored.data).toEqual({ compactionId: (compacted.data as { compactionId: string }).compactionId });
  await remote.compact(chat.id, { undo: true });
  await remote.compact(chat.id);
  await untilEvent(chat, (event) => isCompacted(event) && event.seq > restored.seq);
  await chat.close();
}, 120_000);

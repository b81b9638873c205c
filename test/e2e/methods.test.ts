import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import type { Chat, ConversationEvent } from '../../src/client.ts';
import { installAgents, resultsOf, textIn, until, untilEvent, type Installation, type ScriptedStep, type WorkerProcess } from './support.ts';

const LAB = fileURLToPath(new URL('fixtures/lab', import.meta.url));

function program(code: string, more: object = {}): ScriptedStep {
  return { call: 'code:run', with: { language: 'python', code, ...more } };
}

/** An agent whose code may call the lab; some of it only with an approval. */
function agent(steps: ScriptedStep[], more: object = {}) {
  const approval = [
    { tool: 'lab:append', decide: 'ask' },
    { tool: '*', decide: 'allow' },
  ];
  return { plugins: [LAB], tools: ['shell:*', 'code:*', 'files:*', 'lab:*'], approval, steps, ...more };
}

const WAITS = `
from longshore import tools
before = tools.lab.look(key='a')['key']
print('asking', flush=True)
answer = tools.lab.append(line='one')
print(before, answer['written'])
`;

let installation: Installation;
let worker: WorkerProcess;

beforeAll(async () => {
  installation = await installAgents({
    waits: agent([program(WAITS), { say: 'Done.' }]),
  });
  worker = installation.startWorker();
  await worker.ready;
});
afterAll(async () => {
  await installation[Symbol.asyncDispose]();
});

const start = (name: string) => installation.longshore.start({ agent: name, user: 'user-1', message: 'Begin.' });

/** The n-th approval that the conversation asks for. */
async function untilAsked(chat: Chat, count = 1): Promise<{ callId: string; hash: string; data: ConversationEvent['data'] }> {
  let seen = 0;
  const { data } = await untilEvent(chat, ({ type }) => type === 'tool.approval-requested' && ++seen === count);
  return { callId: textIn(data, 'callId'), hash: textIn(data, 'hash'), data };
}

async function pendingActivities({ id }: Chat): Promise<number> {
  const connection = await Connection.connect({ address: process.env['TEMPORAL_ADDRESS'] ?? '' });
  try {
    const { raw } = await new Client({ connection }).workflow.getHandle(id).describe();
    return raw.pendingActivities?.length ?? 0;
  } finally {
    await connection.close();
  }
}

test('a script waits for an approval in mid-line; its worker is killed meanwhile, and it goes on in the next one', async () => {
  const chat = await start('waits');
  const { callId } = await untilAsked(chat);
  await until(async () => (await pendingActivities(chat)) === 0, 'no activity is held');
  expect(await chat.status()).toMatchObject({ state: 'awaiting-approval' });
  await worker.kill();
  worker = installation.startWorker();
  await worker.ready;
  await chat.approve({ callId, answer: 'allow-once' });
  expect(await chat.reply()).toBe('Done.');
  expect((await resultsOf(chat))[0]).toMatchObject({ exitCode: 0, stdout: 'asking\na one\n', stderr: '' });
  await chat.close();
}, 60_000);

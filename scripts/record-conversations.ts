/**
 * Records event logs of real conversations for the tests of the protocols, into test/api/protocols/recorded.
 * Arguments name the scenes to record; without any it records all. Afterwards: LONGSHORE_TEST_GOLDEN=write npm test -- test/api/protocols/recorded
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Chat, ConversationEvent } from '../src/client.ts';
import { runCommand } from '../src/platform/run-command.ts';
import { startTestStack } from '../test/support/stack.ts';
import { installAgents, until, untilEvent, type Installation, type ScriptedAgent, type ScriptedStep } from '../test/e2e/support.ts';

const DIRECTORY = new URL('../test/api/protocols/recorded/', import.meta.url);
const LAB = fileURLToPath(new URL('../test/e2e/fixtures/lab', import.meta.url));
const ALLOWED = [{ tool: '*', decide: 'allow' }];
const run = (command: string, more: object = {}): ScriptedStep & { call: string } => ({ call: 'shell:run', with: { command, ...more } });

interface Scene {
  agent: ScriptedAgent;
  act: (chat: Chat, installation: Installation) => Promise<unknown>;
}

const approvalsOf = async (chat: Chat, count: number) => {
  await until(async () => (await chat.status()).pendingApprovals.length === count, 'it waits for approvals');
  return (await chat.status()).pendingApprovals;
};

const scenes: Record<string, Scene> = {
  text: { agent: { steps: [{ think: 'A greeting.', say: 'Ahoy.\nWelcome on board.' }] }, act: (chat) => chat.reply() },
  sandbox: {
    agent: { steps: [{ say: 'I look.', ...run('echo one; sleep 0.6; echo two >&2; sleep 0.6; echo three') }, { ...run('exit 3') }, { say: 'Seen.' }] },
    act: (chat) => chat.reply(),
  },
  beside: {
    agent: { plugins: [LAB], tools: ['lab:*'], steps: [{ calls: [{ call: 'lab:look', with: { key: 'a' } }, { call: 'lab:fail' }] }, { say: 'Looked.' }] },
    act: (chat) => chat.reply(),
  },
  approval: {
    agent: {
      approval: [...ALLOWED, { tool: 'shell:run', when: { command: 'rm *' }, decide: 'ask' }],
      steps: [{ say: 'May I?', calls: [run('rm -f a'), run('echo free'), run('rm -f b'), run('rm -f c')] }, { say: 'Thank you.' }],
    },
    async act(chat) {
      const [first, second, third] = await approvalsOf(chat, 3);
      await chat.approve({ callId: third!.callId, answer: 'allow-once', editedArguments: { command: 'echo instead' }, by: 'ada' });
      await chat.approve({ callId: first!.callId, answer: 'allow-once', by: 'ada' });
      await chat.approve({ callId: second!.callId, answer: 'deny', reason: 'Keep it.', by: 'ada' });
      await chat.reply();
    },
  },
  'code-asks': {
    agent: {
      plugins: [LAB],
      tools: ['code:*', 'lab:*'],
      approval: [...ALLOWED, { tool: 'lab:append', decide: 'ask' }],
      steps: [
        {
          call: 'code:run',
          with: { language: 'python', code: "from longshore import tools\nprint(tools.lab.look(key='a'))\nprint(tools.lab.append(line='one'))" },
        },
        { say: 'Written.' },
      ],
    },
    async act(chat) {
      const [only] = await approvalsOf(chat, 1);
      await chat.approve({ callId: only!.callId, answer: 'allow-once' });
      await chat.reply();
    },
  },
  failed: {
    agent: { steps: [{ say: 'I try.', ...run('true'), expect: { exitCode: 1 } }, { say: 'Never said.' }] },
    act: (chat) => chat.reply().catch(() => undefined),
  },
  budget: {
    agent: { budget: { steps: 1 }, steps: [{ ...run('echo one') }, { say: 'Done.' }] },
    async act(chat) {
      await until(async () => (await chat.status()).state === 'paused', 'it is paused');
      await chat.resume({ extraTurns: 1 });
      await untilEvent(chat, ({ type }) => type === 'turn.finished');
    },
  },
  'steer-and-queue': {
    agent: { steps: [{ ...run('echo waiting; sleep 3') }, { say: 'I heard.' }, { say: 'And answered.' }] },
    async act(chat) {
      await untilEvent(chat, ({ type }) => type === 'tool.output');
      await chat.send('Faster.', { whenBusy: 'steer' });
      const { turnId } = await chat.send('And then?');
      await chat.reply(turnId);
    },
  },
  stopped: {
    agent: { steps: [{ say: 'I sleep.', ...run('echo asleep; sleep 300') }, { say: 'Never said.' }] },
    async act(chat) {
      await untilEvent(chat, ({ type }) => type === 'tool.output');
      await chat.interrupt();
      await untilEvent(chat, ({ type }) => type === 'turn.finished');
    },
  },
  'lost-result': {
    agent: { steps: [{ ...run('echo half done; sleep 300') }, { say: 'I shall look.' }] },
    async act(chat, installation) {
      await untilEvent(chat, ({ type }) => type === 'tool.output');
      const [container = ''] = await installation.containers();
      await runCommand('docker', ['kill', container]);
      await chat.reply();
    },
  },
};

/** A provider whose first answer breaks off. */
async function openProvider() {
  let asked = 0;
  const server = createServer((request, response) => {
    request.resume();
    const chunk = (delta: object, finish: string | null = null) =>
      `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 0, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    asked += 1;
    if (asked > 1) response.end(`${chunk({ role: 'assistant', content: 'Here I am.' })}${chunk({}, 'stop')}data: [DONE]\n\n`);
    else response.write(chunk({ role: 'assistant', content: 'Here I' }), () => setTimeout(() => response.destroy(), 300));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function logOf(chat: Chat): Promise<ConversationEvent[]> {
  const events: ConversationEvent[] = [];
  for await (const event of chat.events()) events.push(event);
  return events;
}

const stack = await startTestStack();
const wanted = process.argv.slice(2);
await using provider = await openProvider();
const retry: Scene = {
  agent: { model: 'openai-compatible/m', modelOptions: { baseUrl: provider.url }, steps: [{ say: 'unused' }] },
  act: (chat) => chat.reply(),
};
for (const [name, { agent, act }] of Object.entries({ ...scenes, retry })) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  await using installation = await installAgents({ agent: { approval: ALLOWED, ...agent } });
  await installation.startWorker().ready;
  const chat = await installation.longshore.start({ agent: 'agent', user: 'user-1', message: 'Begin.' });
  await act(chat, installation);
  await chat.close();
  const file = fileURLToPath(new URL(`${name}.events.json`, DIRECTORY));
  const log = JSON.stringify(await logOf(chat), undefined, 2).replaceAll(installation.environment['LONGSHORE_AGENTS'] ?? '', '/agents');
  await writeFile(file, `${log}\n`);
  process.stdout.write(`${name}\n`);
}
await stack.stop();

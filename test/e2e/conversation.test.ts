import type { Chat, ConversationEvent } from '../../src/client.ts';
import { runCommand } from '../../src/platform/run-command.ts';
import { installAgents, resultsOf, until, untilEvent, type Installation } from './support.ts';

const untilReleased = { call: 'shell:run', with: { command: 'echo $$ > /home/user/pid; until [ -e /home/user/go ]; do sleep 0.05; done; echo released' } };

let installation: Installation;

beforeAll(async () => {
  installation = await installAgents({
    helper: { steps: [{ say: 'Looking.', call: 'shell:run', with: { command: 'echo hello' } }, { say: 'It says hello.' }, { say: 'You are welcome.' }] },
    waiter: { steps: [untilReleased, { say: 'First.' }, { say: 'Second.' }, { say: 'Third.' }] },
  });
  await installation.startWorker().ready;
});
afterAll(async () => {
  await installation[Symbol.asyncDispose]();
});

/** Runs a program in the conversation's container, as its guest; gives the exit code. */
async function inSandbox(chat: Chat, ...command: string[]): Promise<number> {
  const row = await installation.store.sandboxes.ofConversation(chat.id);
  return (await runCommand('docker', ['exec', '--user', 'user', row?.containerName ?? '', ...command])).code;
}

const release = (chat: Chat) => inSandbox(chat, 'touch', '/home/user/go');

/** A conversation whose first turn is in the middle of its command. */
async function startBusy(): Promise<{ chat: Chat; turnId: string }> {
  const chat = await installation.longshore.start({ agent: 'waiter', user: 'user-1', message: 'One.' });
  const started = await untilEvent(chat, ({ type, data }) => type === 'tool.started' && data['tool'] === 'shell:run');
  await until(async () => (await inSandbox(chat, 'test', '-s', '/home/user/pid')) === 0, 'the command runs');
  return { chat, turnId: started.turnId ?? '' };
}

async function said(chat: Chat): Promise<string[]> {
  return (await chat.transcript()).flatMap(({ entry }) => {
    if (entry.role === 'user') return entry.content.map((part) => `user: ${part.type === 'text' ? part.text : ''}`);
    if (entry.role === 'assistant') return entry.parts.map((part) => (part.type === 'tool-call' ? `call ${part.tool}` : `agent: ${part.text}`));
    return [entry.role];
  });
}

test('a message is answered, and events, transcript and status tell the same', async () => {
  const chat = await installation.longshore.start({ agent: 'helper', user: 'user-1', message: 'What does it say?' });
  expect(await chat.reply()).toBe('It says hello.');
  const events: ConversationEvent[] = [];
  for await (const event of chat.events()) {
    events.push(event);
    if (event.type === 'turn.finished') break;
  }
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  const told = events.map(({ type }) => type).filter((type) => type !== 'text.delta' && type !== 'sandbox.changed');
  const step = (...between: string[]) => ['step.started', 'step.finished', ...between];
  const opening = ['conversation.started', 'message.received', 'turn.started'];
  expect(told).toEqual([...opening, ...step('tool.requested', 'tool.started', 'tool.output', 'tool.finished'), ...step('turn.finished')]);
  const output = events.flatMap(({ type, data }) => (type === 'tool.output' ? [data] : []));
  expect(output).toMatchObject([{ stream: 'stdout', offset: 0, text: 'hello\n' }]);
  expect(await said(chat)).toEqual(['user: What does it say?', 'agent: Looking.', 'call shell:run', 'tool', 'agent: It says hello.']);
  expect(await resultsOf(chat)).toMatchObject([{ exitCode: 0, stdout: 'hello\n' }]);
  expect(await chat.status()).toMatchObject({ state: 'idle', queued: 0, turnsUsed: 1, sandboxTier: 'running', pendingApprovals: [], runningCalls: [] });
  await chat.close();
});

test('a reader goes on after any event, and stops at the end of the conversation', async () => {
  const chat = await installation.longshore.start({ agent: 'helper', user: 'user-1', message: 'What does it say?' });
  const live: number[] = [];
  const reading = (async () => {
    for await (const { seq } of chat.events()) live.push(seq);
  })();
  await chat.reply();
  const later: number[] = [];
  const resumed = (async () => {
    for await (const { seq } of chat.events({ afterSeq: 5 })) later.push(seq);
  })();
  await chat.send('Thank you.');
  expect(await chat.reply()).toBe('You are welcome.');
  await chat.close();
  await Promise.all([reading, resumed]);
  expect(live).toEqual(live.map((_, index) => index + 1));
  expect(later).toEqual(live.slice(5));
});

test('a queued message waits for the running turn and gets a turn of its own', async () => {
  const { chat, turnId } = await startBusy();
  const second = await chat.send('Two.', { whenBusy: 'queue' });
  expect(second).toMatchObject({ duplicate: false });
  expect(second.turnId).not.toBe(turnId);
  await until(async () => (await chat.status()).queued === 1, 'the message waits');
  await release(chat);
  expect(await chat.reply(turnId)).toBe('First.');
  expect(await chat.reply()).toBe('Second.');
  expect(await said(chat)).toEqual(['user: One.', 'call shell:run', 'tool', 'agent: First.', 'user: Two.', 'agent: Second.']);
  await chat.close();
});

test('a steering message joins the running turn at its next step', async () => {
  const { chat, turnId } = await startBusy();
  expect(await chat.send('Be brief.', { whenBusy: 'steer' })).toMatchObject({ turnId, duplicate: false });
  await release(chat);
  expect(await chat.reply(turnId)).toBe('First.');
  expect(await said(chat)).toEqual(['user: One.', 'call shell:run', 'tool', 'user: Be brief.', 'agent: First.']);
  await chat.close();
});

test('an interrupting message ends the running turn and its command, and is answered next', async () => {
  const { chat, turnId } = await startBusy();
  const queued = await chat.send('Three.', { whenBusy: 'queue' });
  const urgent = await chat.send('Two!', { whenBusy: 'interrupt' });
  expect(await chat.reply(urgent.turnId)).toBe('First.');
  await expect(chat.reply(turnId)).rejects.toMatchObject({ code: 'TURN_FAILED', values: { turnId, outcome: 'interrupted' } });
  expect(await inSandbox(chat, 'bash', '-c', 'kill -0 $(cat /home/user/pid)')).not.toBe(0);
  // Not until it is idle: between two turns it may be, too.
  expect(await chat.reply(queued.turnId)).toBe('Second.');
  expect(await said(chat)).toEqual(['user: One.', 'call shell:run', 'tool', 'user: Two!', 'agent: First.', 'user: Three.', 'agent: Second.']);
  await chat.close();
});

test('a message that must not wait is refused while a turn runs, and taken when none does', async () => {
  const { chat, turnId } = await startBusy();
  await expect(chat.send('Two.', { whenBusy: 'reject' })).rejects.toMatchObject({
    code: 'CONVERSATION_BUSY',
    message: `Conversation "${chat.id}" is working on turn ${turnId}. Wait for it, or send with whenBusy queue, steer or interrupt.`,
  });
  await release(chat);
  expect(await chat.reply(turnId)).toBe('First.');
  await until(async () => (await chat.status()).state === 'idle', 'the turn is over');
  await chat.send('Two.', { whenBusy: 'reject' });
  expect(await chat.reply()).toBe('Second.');
  expect(await said(chat)).toEqual(['user: One.', 'call shell:run', 'tool', 'agent: First.', 'user: Two.', 'agent: Second.']);
  await chat.close();
});

test('a message id that is sent again is one message, at once and later', async () => {
  const { chat } = await startBusy();
  const sends = await Promise.all([1, 2, 3].map(() => chat.send('Two.', { messageId: 'order-17' })));
  expect(new Set(sends.map(({ turnId }) => turnId)).size).toBe(1);
  await release(chat);
  expect(await chat.reply(sends[0]?.turnId)).toBe('Second.');
  expect(await chat.send('Two, again.', { messageId: 'order-17' })).toMatchObject({ turnId: sends[0]?.turnId });
  expect((await said(chat)).filter((line) => line.startsWith('user'))).toEqual(['user: One.', 'user: Two.']);
  await chat.close();
});

test('starting a conversation id again gives the conversation that runs', async () => {
  const options = { agent: 'helper', user: 'user-1', message: 'What does it say?', conversationId: `conv_${installation.name}` };
  const first = await installation.longshore.start(options);
  await first.reply();
  const again = await installation.longshore.start(options);
  expect(again.id).toBe(first.id);
  expect((await said(again)).filter((line) => line.startsWith('user'))).toEqual(['user: What does it say?']);
  await first.close();
});

test('closing ends a running turn and leaves no container and no volume', async () => {
  const { chat, turnId } = await startBusy();
  const row = await installation.store.sandboxes.ofConversation(chat.id);
  expect(await installation.containers()).toContain(row?.containerName);
  expect(await chat.status()).toMatchObject({ state: 'running', sandboxTier: 'running', runningCalls: [{ tool: 'shell:run' }] });
  await chat.close();
  for await (const _ of chat.events());
  await expect(chat.reply(turnId)).rejects.toMatchObject({ code: 'TURN_FAILED', values: { outcome: 'interrupted' } });
  expect(await chat.status()).toMatchObject({ state: 'closed', sandboxTier: 'destroyed' });
  expect(await installation.containers()).not.toContain(row?.containerName);
  expect((await runCommand('docker', ['volume', 'inspect', row?.volumeName ?? ''])).code).not.toBe(0);
  await expect(chat.send('Are you there?')).rejects.toMatchObject({ code: 'CONVERSATION_CLOSED' });
  await chat.close();
});

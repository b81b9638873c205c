import { connect, type Chat, type ConversationEvent, type Longshore } from '../../src/client.ts';
import { makeId } from '../../src/contracts/ids.ts';
import { startApi, type TestApi } from '../api/support.ts';
import { newConversation, openTestStore } from '../store/support.ts';
import { install, untilEvent, type Installation } from '../e2e/support.ts';

let installation: Installation;
let service: TestApi;
beforeAll(async () => {
  const steps = [{ say: 'Hello.' }, { say: 'I remove it.', call: 'shell:run', with: { command: 'rm -f old; echo removed' } }, { say: 'It is gone.' }];
  const approval = [{ tool: 'shell:run', when: { command: 'rm *' }, decide: 'ask' }];
  installation = await install(steps, { approval });
  await installation.startWorker().ready;
  service = await startApi(installation);
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await installation[Symbol.asyncDispose]();
});

describe.each(['in the process', 'over HTTP'])('a client %s', (transport) => {
  let longshore: Longshore;
  beforeAll(async () => {
    if (transport === 'in the process') longshore = installation.longshore;
    else longshore = await connect({ url: service.url, apiKey: (await service.key(['admin'])).authorization.slice('Bearer '.length) });
  });
  afterAll(async () => {
    if (longshore !== installation.longshore) await longshore[Symbol.asyncDispose]();
  });

  const start = (message?: string) => longshore.start({ agent: 'scripted', user: 'user-1', ...(message && { message }) });

  async function all(events: AsyncIterable<ConversationEvent>): Promise<ConversationEvent[]> {
    const seen: ConversationEvent[] = [];
    for await (const event of events) seen.push(event);
    return seen;
  }

  async function askForApproval(chat: Chat): Promise<{ callId: string; hash: string; turnId: string }> {
    const { turnId } = await chat.send('Remove it');
    const { data } = await untilEvent(chat, (event) => event.type === 'tool.approval-requested');
    return { callId: data['callId'] as string, hash: data['hash'] as string, turnId };
  }

  test('a conversation gives its reply, its status, its transcript and its events, which end when it closes', async () => {
    await using chat = await start('Hi');
    expect(await chat.reply()).toBe('Hello.');
    expect(await chat.status()).toMatchObject({ conversationId: chat.id, agentId: 'scripted', userId: 'user-1', tenantId: 'default', turnsUsed: 1 });
    expect((await chat.transcript()).map(({ entry }) => entry.role)).toEqual(['user', 'assistant']);
    await chat.close();
    const events = await all(chat.events());
    expect(events.map((event) => event.seq)).toEqual(events.map((_, index) => index + 1));
    expect(events.at(0)?.type).toBe('conversation.started');
    expect(events.at(-1)?.type).toBe('conversation.closed');
    let streamed = '';
    for await (const event of chat.events()) if (event.type === 'text.delta') streamed += event.data.text;
    expect(streamed).toBe('Hello.');
    expect(await all(chat.events({ afterSeq: events.length - 1 }))).toEqual(events.slice(-1));
    expect(await all(chat.events({ afterSeq: events.length }))).toEqual([]);
  });

  test('a message sent twice with one id is one message', async () => {
    await using chat = await start();
    const first = await chat.send('Hi', { messageId: 'msg_same' });
    const second = await chat.send('Hi again', { messageId: 'msg_same' });
    expect(first).toEqual({ turnId: first.turnId, messageId: 'msg_same', duplicate: false });
    expect(second).toEqual({ ...first, duplicate: true });
    expect(await chat.reply(first.turnId)).toBe('Hello.');
    await chat.close();
    expect((await all(chat.events())).filter((event) => event.type === 'message.received')).toMatchObject([{ data: { text: 'Hi' } }]);
  });

  test('starting an id again gives the conversation that runs', async () => {
    const options = { agent: 'scripted', user: 'user-1', conversationId: `conv_${installation.name}_${transport.length}`, message: 'Hi' };
    await using first = await longshore.start(options);
    await using second = await longshore.start(options);
    expect(second.id).toBe(first.id);
    expect(await second.reply()).toBe('Hello.');
    await first.close();
    expect((await all(second.events())).filter((event) => event.type === 'message.received')).toHaveLength(1);
  });

  test('an approval is bound to its hash and can be given once', async () => {
    await using chat = await start('Hi');
    await chat.reply();
    const { callId, turnId } = await askForApproval(chat);
    await expect(chat.approve({ callId, answer: 'allow', hash: 'another' })).rejects.toMatchObject({ code: 'APPROVAL_MISMATCH' });
    await expect(chat.approve({ callId: 'call_none', answer: 'allow' })).rejects.toMatchObject({ code: 'APPROVAL_NOT_FOUND' });
    const edited = { command: 'echo edited' };
    expect(await chat.approve({ callId, answer: 'allow-once', editedArguments: edited, by: 'tester' })).toEqual({ callId, answer: 'allow-once' });
    expect(await chat.reply(turnId)).toBe('It is gone.');
    await expect(chat.approve({ callId, answer: 'allow' })).rejects.toMatchObject({ code: 'APPROVAL_NOT_FOUND' });
    await chat.close();
    const events = await all(chat.events());
    expect(events.find((event) => event.type === 'tool.approval-resolved')?.data).toMatchObject({ callId, answer: 'allow-once', by: 'tester' });
    expect(events.find((event) => event.type === 'tool.finished')?.data['text']).toContain('edited');
  });

  test('an interrupted turn is reported as such, and the next message is answered', async () => {
    await using chat = await start('Hi');
    await chat.reply();
    const { turnId } = await askForApproval(chat);
    await chat.interrupt();
    await expect(chat.reply(turnId)).rejects.toMatchObject({ code: 'TURN_FAILED', values: { outcome: 'interrupted' } });
    const next = await chat.send('And now?');
    expect(await chat.reply(next.turnId)).toBe('It is gone.');
    await chat.close();
  });

  test('a turn that the conversation does not have, and cannot get, is waited for no longer than those before it', async () => {
    await using chat = await start('Hi');
    await expect(chat.reply('turn_none')).rejects.toMatchObject({ code: 'TURN_NOT_FOUND', values: { turnId: 'turn_none' } });
    expect(await chat.reply()).not.toBe('');
    await expect(chat.reply('turn_none')).rejects.toMatchObject({ code: 'TURN_NOT_FOUND' });
    const long = makeId('turn', Date.now() - 2 * 3_600_000, Math.random);
    await expect(chat.reply(long)).rejects.toMatchObject({ code: 'TURN_NOT_FOUND' });
    // A message that an operator types is in no table before its turn begins.
    const fresh = expect(chat.reply(makeId('turn', Date.now(), Math.random))).rejects.toMatchObject({ code: 'CONVERSATION_CLOSED' });
    await chat.close();
    await fresh;
  });

  test('a closed conversation refuses messages, and closing it again is no error', async () => {
    await using chat = await start();
    await chat.close();
    await all(chat.events());
    await expect(chat.send('Hi')).rejects.toMatchObject({ code: 'CONVERSATION_CLOSED' });
    await expect(chat.pause()).rejects.toMatchObject({ code: 'CONVERSATION_CLOSED' });
    await expect(chat.reply('turn_none')).rejects.toMatchObject({ code: 'CONVERSATION_CLOSED' });
    await chat.close();
  });

  test('a conversation of which there is no more than the row says so to every command, and goes on when it is started again', async () => {
    const ids = { agentId: 'scripted', userId: 'user-1', tenantId: 'default' };
    const chat = await longshore.chat(await newConversation(installation.store, { ...ids, state: 'running', queued: 1 }));
    const commands: Record<string, () => Promise<unknown>> = {
      send: () => chat.send('Hi', { messageId: 'msg_early' }),
      pause: () => chat.pause(),
      resume: () => chat.resume(),
      interrupt: () => chat.interrupt(),
      stopAfterStep: () => chat.stopAfterStep(),
      cancel: () => chat.cancel(),
      compact: () => chat.compact(),
      close: () => chat.close(),
      revokeAllowed: () => chat.revokeAllowed('shell:run'),
      rewind: () => chat.rewind('chk_none'),
    };
    const message = `Conversation "${chat.id}" has not started yet: a program is starting it, or has ended before it did. Try again in a moment; if that does not help, start it again with the same id.`;
    for (const [name, command] of Object.entries(commands)) {
      const refused = await command().catch((error: unknown) => error);
      expect({ name, refused }).toMatchObject({ refused: { code: 'CONVERSATION_UNSTARTED', retryable: true, message } });
    }
    await using _again = await longshore.start({ agent: 'scripted', user: 'user-1', conversationId: chat.id });
    const { turnId } = await chat.send('Hi', { messageId: 'msg_early' });
    expect(await chat.reply(turnId)).toBe('Hello.');
    await chat.close();
  });

  test('a message that is sent again after its conversation was closed is the message of before', async () => {
    await using chat = await start();
    const { turnId } = await chat.send('Hi', { messageId: 'msg_once' });
    await chat.reply(turnId);
    await chat.close();
    await all(chat.events());
    expect(await chat.send('Hi', { messageId: 'msg_once' })).toEqual({ turnId, messageId: 'msg_once', duplicate: true });
    await expect(chat.send('Hi', { messageId: 'msg_twice' })).rejects.toMatchObject({ code: 'CONVERSATION_CLOSED' });
  });

  test('a pause holds messages back until the conversation is resumed', async () => {
    await using chat = await start();
    await chat.pause({ note: 'lunch' });
    await untilEvent(chat, (event) => event.type === 'conversation.paused');
    expect(await chat.status()).toMatchObject({ state: 'paused', paused: { by: 'operator', note: 'lunch' } });
    const { turnId } = await chat.send('Hi');
    await chat.resume();
    expect(await chat.reply(turnId)).toBe('Hello.');
    await chat.close();
  });

  test('what does not exist is named, and bad messages are refused before anything is stored', async () => {
    for (const call of [longshore.status('conv_none'), longshore.send('conv_none', 'Hi'), longshore.pause('conv_none'), longshore.chat('conv_none')]) {
      await expect(call).rejects.toMatchObject({ code: 'CONVERSATION_NOT_FOUND', values: { conversationId: 'conv_none' } });
    }
    await expect(all(longshore.events('conv_none'))).rejects.toMatchObject({ code: 'CONVERSATION_NOT_FOUND' });
    const list = async () => (await longshore.list()).map((row) => row.conversationId);
    const before = await list();
    await expect(longshore.start({ agent: 'nobody', user: 'u' })).rejects.toMatchObject({ code: 'AGENT_NOT_FOUND', values: { known: 'scripted' } });
    await expect(longshore.start({ agent: 'scripted', user: 'u', message: ' ' })).rejects.toMatchObject({ code: 'MESSAGE_INVALID' });
    await expect(longshore.start({ agent: 'scripted', user: 'u', message: 'x'.repeat(100_001) })).rejects.toMatchObject({ code: 'MESSAGE_INVALID' });
    const long = ['a'.repeat(129), `"${'a'.repeat(60)}"… (129 characters)`] as const;
    for (const [conversationId, shown] of [...['', 'a/b', '-a', 'a b', 'ä'].map((id) => [id, `"${id}"`] as const), long]) {
      await expect(longshore.start({ agent: 'scripted', user: 'u', conversationId })).rejects.toThrow(
        `conversationId: ${shown} cannot be used. Write 1 to 128 letters, digits, ".", "_" and "-", beginning with a letter or digit`,
      );
    }
    expect(await list()).toEqual(before);
  });

  test('disposing a chat ends its iterations and leaves the conversation alone', async () => {
    const chat = await start();
    const events = all(chat.events());
    await chat[Symbol.asyncDispose]();
    await events;
    expect(await longshore.status(chat)).toMatchObject({ state: 'idle' });
    await longshore.close(chat);
  });
});

test('without Temporal, a lazy client still reads, and says what is away when it is needed', async () => {
  await using stack = await openTestStore();
  const conversationId = await newConversation(stack.store);
  const options = { temporalAddress: '127.0.0.1:1', databaseUrl: stack.url };
  // Each of the two gives up only after a while; they wait at the same time.
  const eager = expect(connect(options)).rejects.toMatchObject({ code: 'TEMPORAL_UNAVAILABLE', values: { address: '127.0.0.1:1' } });
  await using longshore = await connect({ ...options, lazy: true });
  expect(await longshore.status(conversationId)).toMatchObject({ conversationId, state: 'idle' });
  const pausing = expect(longshore.pause(conversationId)).rejects.toMatchObject({ code: 'TEMPORAL_UNAVAILABLE' });
  await Promise.all([eager, pausing]);
});

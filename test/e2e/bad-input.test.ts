import { Client, Connection, WorkflowUpdateFailedError } from '@temporalio/client';
import type { Chat } from '../../src/client.ts';
import { installAgents, resultsOf, textIn, until, untilEvent, type Installation } from './support.ts';

let installation: Installation;

beforeAll(async () => {
  const answers = ['One.', 'Two.', 'Three.'].map((say) => ({ say }));
  installation = await installAgents({
    talker: { steps: answers },
    confused: {
      steps: [
        { call: 'weather:lookup', with: { city: 'Lyon' }, expect: { isError: true } },
        { call: 'shell:run', with: { comand: 'ls' }, expect: { isError: true } },
        { call: 'shell:run', with: { command: 'echo fine' }, expect: { stdout: 'fine\n' } },
        { say: 'Done in the end.' },
      ],
    },
    asker: {
      approval: [{ tool: 'shell:run', decide: 'ask' }],
      steps: [{ call: 'shell:run', with: { command: 'echo approved' }, expect: { stdout: 'approved\n' } }, { say: 'Thanks.' }, { say: 'Still here.' }],
    },
  });
  await installation.startWorker().ready;
});
afterAll(async () => {
  await installation[Symbol.asyncDispose]();
});

const start = (agent: string, message = 'Begin.') => installation.longshore.start({ agent, user: 'user-1', message });

/** A conversation that waits for the approval of its one call. */
async function startAsking(): Promise<{ chat: Chat; callId: string; hash: string }> {
  const chat = await start('asker');
  const { data } = await untilEvent(chat, ({ type }) => type === 'tool.approval-requested');
  return { chat, callId: textIn(data, 'callId'), hash: textIn(data, 'hash') };
}

async function userMessages(chat: Chat): Promise<number> {
  return (await chat.transcript()).filter(({ entry }) => entry.role === 'user').length;
}

/** The ids of all conversations; those of other tests may still be closing. */
async function known(): Promise<string[]> {
  return (await installation.longshore.list()).map(({ conversationId }) => conversationId);
}

describe('a message', () => {
  const refused = {
    long: 'Message refused: it has 100001 characters, and 100000 are allowed. Put the rest into a file and name the file in the message',
    empty: 'Message refused: it is empty. Say something',
  };

  test('that is too long or empty starts no conversation', async () => {
    const before = await known();
    await expect(start('talker', 'x'.repeat(100_001))).rejects.toMatchObject({ code: 'MESSAGE_INVALID', message: refused.long });
    await expect(start('talker', ' \n')).rejects.toMatchObject({ code: 'MESSAGE_INVALID', message: refused.empty });
    expect(await known()).toEqual(before);
  });

  test('that is too long or empty is refused by a running conversation, which goes on; the longest one is taken', async () => {
    const chat = await start('talker');
    await chat.reply();
    await expect(chat.send('x'.repeat(100_001))).rejects.toMatchObject({ code: 'MESSAGE_INVALID', message: refused.long });
    await expect(chat.send('')).rejects.toMatchObject({ code: 'MESSAGE_INVALID', message: refused.empty });
    await chat.send('x'.repeat(100_000));
    expect(await chat.reply()).toBe('Two.');
    expect(await userMessages(chat)).toBe(2);
    await chat.close();
  });

  test('typed into the Temporal UI is checked in the same way', async () => {
    const chat = await start('talker');
    await chat.reply();
    const connection = await Connection.connect({ address: process.env['TEMPORAL_ADDRESS'] ?? '' });
    try {
      const handle = new Client({ connection }).workflow.getHandle(chat.id);
      const problemOf = async (typed: unknown): Promise<string | undefined> => {
        const error: unknown = await handle.executeUpdate('sendMessage', { args: [typed] }).catch((reason: unknown) => reason);
        return error instanceof WorkflowUpdateFailedError ? error.cause?.message : undefined;
      };
      expect(await problemOf({ text: 'x'.repeat(16_385) })).toBe(
        'Message refused: its text has 16385 characters, 16384 fit into a message typed here. Send longer ones with the client or the command line',
      );
      expect(await problemOf({})).toBe('Message refused: it has no text. Send {"text": "…"}');
      expect(await problemOf('hello')).toBe('Message refused: the arguments are "hello". Give one JSON object');
      expect(await problemOf({ text: 'Hi', whenBusy: 'shout' })).toBe('Message refused: whenBusy is "shout". Use one of queue, steer, interrupt, reject');
      await handle.executeUpdate('sendMessage', { args: [{ text: 'x'.repeat(16_384) }] });
    } finally {
      await connection.close();
    }
    await until(async () => (await userMessages(chat)) === 2 && (await chat.status()).state === 'idle', 'the typed message is answered');
    expect(await installation.longshore.reply(chat.id)).toBe('Two.');
    await chat.close();
  });

  test('for a conversation that is closed or never was says which', async () => {
    const chat = await start('talker');
    await chat.close();
    for await (const _ of chat.events());
    await expect(chat.send('Hello?')).rejects.toMatchObject({
      code: 'CONVERSATION_CLOSED',
      message: `Conversation "${chat.id}" is closed. Start a new one.`,
    });
    await expect(installation.longshore.send('conv_none', 'Hello?')).rejects.toMatchObject({
      code: 'CONVERSATION_NOT_FOUND',
      message: 'No conversation "conv_none". List them with: longshore ls',
    });
  });

  test('whose text is gone fails its turn and nothing else', async () => {
    const chat = await start('talker');
    await chat.reply();
    const connection = await Connection.connect({ address: process.env['TEMPORAL_ADDRESS'] ?? '' });
    try {
      await new Client({ connection }).workflow.getHandle(chat.id).executeUpdate('sendMessage', { args: [{ messageId: 'never-stored' }] });
    } finally {
      await connection.close();
    }
    const { data } = await untilEvent(chat, ({ type, data }) => type === 'turn.finished' && data['outcome'] === 'failed');
    expect(data['message']).toBe('Message refused: the text of "never-stored" is not in Postgres. Send it again');
    await chat.send('Hello?');
    expect(await chat.reply()).toBe('Two.');
    await chat.close();
  });
});

test('an agent that does not exist is named, with those that do', async () => {
  const before = await known();
  await expect(start('nobody')).rejects.toMatchObject({
    code: 'AGENT_NOT_FOUND',
    message: `No agent named "nobody". Known: asker, confused, talker. Put nobody.yaml into ${installation.environment['LONGSHORE_AGENTS']}, set LONGSHORE_AGENTS to where it is, or name one that exists.`,
  });
  expect(await known()).toEqual(before);
});

test('a model that asks for an unknown tool or breaks a schema is told so, and the turn goes on', async () => {
  const chat = await start('confused');
  expect(await chat.reply()).toBe('Done in the end.');
  const [unknown, broken, fine] = await resultsOf(chat);
  expect(unknown).toMatchObject({ isError: true, text: expect.stringMatching(/^Unknown tool "weather:lookup"\. Available: .*shell:run.*\.$/) });
  expect(broken).toMatchObject({ isError: true, text: expect.stringMatching(/^Arguments of shell:run are not valid: .*command.*comand/s) });
  expect(fine).toMatchObject({ exitCode: 0, stdout: 'fine\n' });
  await chat.close();
});

describe('an approval', () => {
  test('bound to another hash is refused and stays pending', async () => {
    const { chat, callId, hash } = await startAsking();
    await expect(chat.approve({ callId, hash: 'another', answer: 'allow-once' })).rejects.toMatchObject({
      code: 'APPROVAL_MISMATCH',
      message: `The approval of call "${callId}" is bound to hash ${hash}, not another. Read the pending approval again and answer that.`,
    });
    await until(async () => (await chat.status()).pendingApprovals.some((pending) => pending.callId === callId), 'it is still asked for');
    await chat.approve({ callId, hash, answer: 'allow-once' });
    expect(await chat.reply()).toBe('Thanks.');
    await chat.close();
  });

  test('given twice counts once, also when both come together', async () => {
    const { chat, callId, hash } = await startAsking();
    const outcomes = await Promise.allSettled([1, 2].map(() => chat.approve({ callId, hash, answer: 'allow-once' })));
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    const again = {
      code: 'APPROVAL_NOT_FOUND',
      message: `No pending approval for call "${callId}". It may have been answered or have expired; see: longshore show ${chat.id}`,
    };
    expect(outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))).toMatchObject([again]);
    expect(await chat.reply()).toBe('Thanks.');
    await expect(chat.approve({ callId, hash, answer: 'deny' })).rejects.toMatchObject(again);
    expect(await resultsOf(chat)).toMatchObject([{ exitCode: 0, stdout: 'approved\n' }]);
    await chat.send('Are you there?');
    expect(await chat.reply()).toBe('Still here.');
    await chat.close();
  });

  test('of a call that never was, or of another conversation, is not found', async () => {
    const { chat, callId } = await startAsking();
    const other = await start('talker');
    await expect(chat.approve({ callId: 'call_none', answer: 'allow' })).rejects.toMatchObject({ code: 'APPROVAL_NOT_FOUND' });
    await expect(other.approve({ callId, answer: 'allow' })).rejects.toMatchObject({ code: 'APPROVAL_NOT_FOUND' });
    await until(async () => (await chat.status()).pendingApprovals.some((pending) => pending.callId === callId), 'it is still asked for');
    await Promise.all([chat.close(), other.close()]);
  });
});

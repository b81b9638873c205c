import { Client, Connection } from '@temporalio/client';
import { install, until, untilEvent, type Installation } from './support.ts';

const hang = [{ call: 'shell:run', with: { command: 'echo begun; sleep 3000', timeoutSeconds: 3600 } }];

/** Ends a workflow as an operator does in the Temporal UI: nothing of it runs any more, not even its cleaning up. */
async function terminate(conversationId: string): Promise<void> {
  const connection = await Connection.connect({ address: process.env['TEMPORAL_ADDRESS'] ?? '' });
  try {
    await new Client({ connection }).workflow.getHandle(conversationId).terminate('by a test');
  } finally {
    await connection.close();
  }
}

async function begin(installation: Installation) {
  const chat = await installation.longshore.start({ agent: 'scripted', user: 'user-1', message: 'Begin.' });
  await untilEvent(chat, ({ type, data }) => type === 'tool.output' && data.text.includes('begun'));
  return chat;
}

test('a conversation whose workflow was terminated is closed by the next worker that starts, and its sandbox destroyed', async () => {
  await using installation = await install(hang);
  await installation.startWorker().ready;
  const [terminated, alive] = [await begin(installation), await begin(installation)];
  const reply = expect(terminated.reply()).rejects.toMatchObject({ code: 'CONVERSATION_CLOSED' });
  await terminate(terminated.id);
  expect((await terminated.status()).state).toBe('running');
  await expect(terminated.pause()).rejects.toMatchObject({ code: 'CONVERSATION_CLOSED' });
  await installation.startWorker().ready;
  const closed = await untilEvent(terminated, ({ type }) => type === 'conversation.closed');
  expect(closed.data).toEqual({ by: 'reaper', workflow: 'TERMINATED' });
  await reply;
  expect(await terminated.status()).toMatchObject({ state: 'closed', sandboxTier: 'destroyed', runningCalls: [], queued: 0 });
  await expect(terminated.send('Are you there?')).rejects.toMatchObject({ code: 'CONVERSATION_CLOSED' });
  expect(await alive.status()).toMatchObject({ state: 'running', sandboxTier: 'running' });
  expect(await installation.containers()).toEqual([(await installation.store.sandboxes.ofConversation(alive.id))?.containerName]);
  await alive.close();
  await until(async () => (await alive.status()).state === 'closed', 'the other is closed');
}, 400_000);

test('the sandbox of an agent that keeps it is stopped instead, and a call that was running ends as unknown', async () => {
  await using installation = await install(hang, { sandbox: { onClose: 'keep' } });
  await installation.startWorker().ready;
  const chat = await begin(installation);
  const { toolCalls, forks } = installation.store;
  const [call] = await toolCalls.openOf(chat.id);
  await terminate(chat.id);
  await installation.startWorker().ready;
  await untilEvent(chat, ({ type }) => type === 'conversation.closed');
  expect(await chat.status()).toMatchObject({ state: 'closed', sandboxTier: 'stopped' });
  // Nothing changes its files any more: forks may have them.
  expect(await forks.activity(chat.id)).toMatchObject({ isChanging: false });
  const why = 'The workflow of the conversation was ended from outside; it is not known whether this call took effect.';
  expect(await toolCalls.get(call?.callId ?? '')).toMatchObject({ state: 'unknown', content: [{ text: why }] });
  expect((await chat.transcript()).at(-1)?.entry).toMatchObject({ role: 'tool', callId: call?.callId, content: [{ text: why }] });
}, 400_000);

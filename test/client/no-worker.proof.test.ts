import { install } from '../e2e/support.ts';

test('a message that no worker takes is a clear error, and sending it again when one is there is one message', async () => {
  await using installation = await install([{ say: 'Hello.' }]);
  const chat = await installation.longshore.start({ agent: 'scripted', user: 'user-1' });
  await expect(chat.send('Hi', { messageId: 'msg_1' })).rejects.toMatchObject({ code: 'NO_WORKER', values: { conversationId: chat.id } });
  await installation.startWorker().ready;
  const { turnId } = await chat.send('Hi', { messageId: 'msg_1' });
  expect(await chat.reply(turnId)).toBe('Hello.');
  await chat.close();
  const received = [];
  for await (const event of chat.events()) if (event.type === 'message.received') received.push(event);
  expect(received).toHaveLength(1);
});

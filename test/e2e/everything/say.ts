import type { Chat, SendOptions } from '../../../src/client.ts';
import { isFailure } from '../../../src/contracts/errors.ts';

/** Repeats what no worker has answered, since those that there were have been killed. */
export async function untilAnswered<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!isFailure(error, 'NO_WORKER') && !isFailure(error, 'HOST_AWAY')) throw error;
    }
  }
}

/** Sends a message once, however often it is repeated. Gives its turn. */
export async function sendOnce(chat: Chat, text: string, options: Pick<SendOptions, 'output'> = {}): Promise<string> {
  const messageId = `say-${text.replaceAll(/\W/g, '')}`;
  return (await untilAnswered(() => chat.send(text, { messageId, ...options }))).turnId;
}

export async function say(chat: Chat, text: string): Promise<string> {
  return chat.reply(await sendOnce(chat, text));
}

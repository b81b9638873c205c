import type { Installation } from '../support.ts';

/** A conversation whose sandbox is on that host, with what it has done in its first turn. */
export async function startedOn({ longshore, store }: Installation, host: string, agent: string) {
  for (;;) {
    const chat = await longshore.start({ agent, user: 'user-1', message: 'Begin.' });
    await chat.reply();
    if ((await store.sandboxes.ofConversation(chat.id))?.hostId === host) return chat;
    await chat.close();
  }
}

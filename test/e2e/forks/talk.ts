import type { Chat } from '../../../src/client.ts';

/** Sends a message, and gives the answer of its turn. */
export async function say(chat: Chat, text = 'On.'): Promise<string> {
  const { turnId } = await chat.send(text);
  return chat.reply(turnId);
}

/** What the newest command has printed. */
export async function lastOutput(chat: Chat): Promise<unknown> {
  const last = (await chat.transcript()).findLast(({ entry }) => entry.role === 'tool')?.entry;
  const [part] = last?.role === 'tool' ? last.content : [];
  return part?.type === 'text' ? (JSON.parse(part.text) as { stdout: string }).stdout : undefined;
}

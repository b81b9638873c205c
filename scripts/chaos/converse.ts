import { setTimeout as sleep } from 'node:timers/promises';
import { inTime } from '../../src/common/in-time.ts';
import type { ConversationEvent, Longshore } from '../../src/client.ts';
import { insist } from './insist.ts';
import type { Kind, Turn } from './kinds.ts';

/** A conversation that has ended, as its client knows it. */
export interface Spoken {
  id: string;
  /** All events, as they were sent. */
  read: ConversationEvent[];
  /** Calls that the client has run. */
  served: ReadonlySet<string>;
  /** Where a reply was not what the agent said. */
  wrongReplies: string[];
}

/** Holds a conversation to its end, through any outage of the service. @throws when it does not end in time, or a turn fails */
export async function converse(longshore: Longshore, agent: string, kind: Kind, id: string, limitMs: number): Promise<Spoken> {
  const giveUp = new AbortController();
  try {
    return await inTime(speak(longshore, agent, kind, id, giveUp.signal), limitMs, () => new Error(`it has not ended after ${Math.round(limitMs / 1000)} s`));
  } finally {
    giveUp.abort();
  }
}

async function speak(longshore: Longshore, agent: string, kind: Kind, id: string, signal: AbortSignal): Promise<Spoken> {
  const [first, ...more] = kind.turns;
  if (!first) throw new Error(`the agent ${agent} has no turns`);
  const served = new Set<string>();
  const wrongReplies: string[] = [];
  const chat = await insist(signal, () => longshore.start({ agent, user: 'ann', message: first.message, conversationId: id }));
  const read = readEvents(longshore, id, signal);
  const serving = kind.agent['clientTools'] === undefined ? undefined : serve(longshore, id, served, signal);
  for (const failing of [read, serving]) failing?.catch(() => undefined);
  const hear = async (turn: Turn, turnId?: string) => {
    const reply = await insist(signal, () => chat.reply(turnId));
    const said = turn.steps.at(-1)?.say;
    if (reply !== said) wrongReplies.push(`the reply to "${turn.message}" was "${reply}" and not "${said}"`);
  };
  await hear(first);
  for (const turn of more) {
    await sleep(turn.afterMs ?? 0, undefined, { signal });
    const messageId = turn.message.replaceAll(/\W/g, '');
    const { turnId } = await insist(signal, () => chat.send(turn.message, { messageId }));
    await hear(turn, turnId);
  }
  await insist(signal, () => chat.close());
  await serving;
  return { id, read: await read, served, wrongReplies };
}

/** Reads to the closing event; goes on where it was when it is cut. */
async function readEvents(longshore: Longshore, id: string, signal: AbortSignal): Promise<ConversationEvent[]> {
  const read: ConversationEvent[] = [];
  await insist(signal, async () => {
    for await (const event of longshore.events(id, { afterSeq: read.at(-1)?.seq ?? 0, signal })) read.push(event);
  });
  return read;
}

async function serve(longshore: Longshore, id: string, served: Set<string>, signal: AbortSignal): Promise<void> {
  const handlers = {
    async ask(_input: unknown, { callId }: { callId: string }) {
      served.add(callId);
      return 'the answer';
    },
  };
  await insist(signal, () => longshore.tools(id, handlers, { signal }));
}

import { setTimeout as sleep } from 'node:timers/promises';
import { inTime } from '../../src/common/in-time.ts';
import type { Chat, ConversationEvent, Longshore } from '../../src/client.ts';
import { insist } from './insist.ts';
import type { Kind, Turn } from './kinds/kinds.ts';

/** A conversation that has ended, as its client knows it. */
export interface Spoken {
  id: string;
  /** All events, as they were sent. */
  read: ConversationEvent[];
  /** Calls that the client has run. */
  served: ReadonlySet<string>;
  /** Where a reply was not what the agent said. */
  wrongReplies: string[];
  /** Its fork, which has done the turns after the first one as well. */
  fork?: Spoken;
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
  const chat = await insist(signal, () => longshore.start({ agent, user: `user-of-${id}`, message: first.message, conversationId: id }));
  const holding: Holding = { longshore, chat, signal, wrongReplies: [] };
  const following = follow(holding, kind);
  await hear(holding, first);
  const at = kind.forks && (await insist(signal, () => chat.status())).lastTurn?.turnId;
  const forking = at ? speakInFork(holding, kind, at, more) : undefined;
  forking?.catch(() => undefined);
  for (const turn of more) await say(holding, turn);
  // Its files are there as long as it is open.
  const fork = await forking;
  await insist(signal, () => chat.close());
  return { ...(await following), wrongReplies: holding.wrongReplies, ...(fork && { fork }) };
}

/** A conversation while it is held. */
interface Holding {
  longshore: Longshore;
  chat: Chat;
  signal: AbortSignal;
  wrongReplies: string[];
}

/** Reads its events and runs its calls for clients, to its end. */
async function follow({ longshore, chat, signal }: Holding, { agent }: Kind): Promise<Pick<Spoken, 'id' | 'read' | 'served'>> {
  const { id } = chat;
  const served = new Set<string>();
  const serving = agent['clientTools'] === undefined ? undefined : serve(longshore, id, served, signal);
  const [read] = await Promise.all([readEvents(longshore, id, signal), serving]);
  return { id, read, served };
}

/** The fork begins while its source goes on. */
async function speakInFork({ longshore, chat: source, signal }: Holding, kind: Kind, at: string, [first, ...more]: Turn[]): Promise<Spoken> {
  if (!first) throw new Error(`${source.id} has no turn for a fork`);
  const options = { at, conversationId: `${source.id}-fork`, message: first.message };
  const chat = await insist(signal, () => source.fork(options));
  const holding: Holding = { longshore, chat, signal, wrongReplies: [] };
  const following = follow(holding, kind);
  await hear(holding, first);
  for (const turn of more) await say(holding, turn);
  await insist(signal, () => chat.close());
  return { ...(await following), wrongReplies: holding.wrongReplies };
}

async function say(holding: Holding, turn: Turn): Promise<void> {
  const { chat, signal } = holding;
  await sleep(turn.afterMs ?? 0, undefined, { signal });
  if (turn.rewinds) await rewind(holding);
  const messageId = turn.message.replaceAll(/\W/g, '');
  const { turnId } = await insist(signal, () => chat.send(turn.message, { messageId }));
  await hear(holding, turn, turnId);
}

async function hear({ chat, signal, wrongReplies }: Holding, turn: Turn, turnId?: string): Promise<void> {
  const reply = await insist(signal, () => chat.reply(turnId));
  const said = turn.steps.at(-1)?.say;
  if (reply !== said) wrongReplies.push(`the reply to "${turn.message}" was "${reply}" and not "${said}"`);
}

/** Goes back to the end of the first turn. */
async function rewind({ chat, signal }: Holding): Promise<void> {
  const [first] = await insist(signal, () => chat.checkpoints());
  if (!first) throw new Error('it has no checkpoint of its first turn');
  await insist(signal, () => chat.rewind(first.checkpointId));
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

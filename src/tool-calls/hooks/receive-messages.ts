import type { CallModelArgs } from '../../contracts/activities.ts';
import type { Agent } from '../../contracts/agent.ts';
import { MAX_MESSAGE_LENGTH } from '../../contracts/conversation.ts';
import type { JsonObject } from '../../contracts/json.ts';
import type { ContentPart, StoredEntry, TranscriptEntry } from '../../contracts/transcript.ts';
import { cutMiddle } from '../../contracts/visible-text.ts';
import type { Registry } from '../../plugins/registry/registry.ts';
import type { Store } from '../../store/store.ts';
import { commandFor, textOf } from '../offer/command-of.ts';
import type { SentByHooks } from './send-from-hooks.ts';
import type { Hooked, StepHooks } from './step-hooks.ts';

type UserEntry = TranscriptEntry & { role: 'user' };
type UserMessage = StoredEntry & { entry: UserEntry };

interface Parts {
  store: Pick<Store, 'transcript'>;
  registry: Registry;
  agent: Agent;
  hooks: StepHooks;
}

export interface Received {
  transcript: StoredEntry[];
  /** What plugins have sent in place of an answer: they have stopped each message. */
  said?: string;
}

/**
 * Gives the messages that the model has not answered yet to the plugins that want to see them first. A message that they change is changed in the transcript; of
 * one that they stop only that remains.
 */
export async function receiveMessages({ store, registry, agent, hooks }: Parts, args: CallModelArgs, transcript: StoredEntry[]): Promise<Received> {
  const news = hooks.has('received') ? unanswered(transcript, args) : [];
  const changed = new Map<number, StoredEntry>();
  const stopped: Hooked[] = [];
  const goesOn: Hooked[] = [];
  for (const message of news) {
    const text = textOf(message.entry);
    const isCommand = args.mayBeCommand === true && (await commandFor(registry, agent, text)) !== undefined;
    const hasImage = message.entry.content.some(({ type }) => type === 'image');
    const value = { id: String(message.seq), text, at: message.at, isCommand, hasImage };
    const hooked = await hooks.run('received', { id: `${args.turnId}_${message.seq}` }, value);
    (hooked.stoppedBy === undefined ? goesOn : stopped).push(hooked);
    const content = contentAfter(message, text, hooked);
    if (!content) continue;
    const entry: UserEntry = { ...message.entry, content };
    await store.transcript.replaceMessage(args.conversationId, message.seq, entry);
    changed.set(message.seq, { ...message, entry });
  }
  const isStopped = news.length > 0 && stopped.length === news.length;
  await hooks.send([...goesOn, ...stopped].flatMap(({ sent }) => sent).map((each) => (isStopped ? withoutTexts(each) : each)));
  const entries = changed.size === 0 ? transcript : transcript.map((stored) => changed.get(stored.seq) ?? stored);
  return isStopped ? { transcript: entries, said: textsOf(stopped) } : { transcript: entries };
}

function unanswered(transcript: readonly StoredEntry[], { turnId }: CallModelArgs): UserMessage[] {
  const answered = transcript.findLast(({ entry }) => entry.role === 'assistant')?.seq ?? 0;
  return transcript.filter((stored): stored is UserMessage => stored.turnId === turnId && stored.seq > answered && stored.entry.role === 'user');
}

/** Undefined for a message that stays as it is. */
function contentAfter({ entry }: UserMessage, text: string, { value, stoppedBy }: Hooked): ContentPart[] | undefined {
  if (stoppedBy !== undefined) return [{ type: 'text', text: `(stopped by ${stoppedBy})` }];
  const next = textIn(value);
  if (next === undefined || next === text) return undefined;
  const bounded = cutMiddle(next, Math.max(MAX_MESSAGE_LENGTH, text.length));
  return [{ type: 'text', text: bounded }, ...entry.content.filter(({ type }) => type !== 'text')];
}

function textIn({ text }: JsonObject): string | undefined {
  return typeof text === 'string' ? text : undefined;
}

function withoutTexts({ parts, ...sent }: SentByHooks): SentByHooks {
  return { ...sent, parts: parts.filter(({ type }) => type !== 'text') };
}

function textsOf(stopped: Hooked[]): string {
  const texts = stopped.flatMap(({ sent }) => sent.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))));
  return cutMiddle(texts.join('\n').trim(), MAX_MESSAGE_LENGTH) || '(no answer)';
}

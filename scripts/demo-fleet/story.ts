import type { Chat } from '../../src/client.ts';
import type { ConversationEvent } from '../../src/contracts/events.ts';
import type { Store } from '../../src/store/store.ts';
import type { Narrator } from '../demo/narrator.ts';
import type { Checks } from './checks.ts';
import type { Until } from './follow.ts';
import type { Fleet } from './start-fleet.ts';

export interface Scene {
  chat: Chat;
  until: Until;
  fleet: Fleet;
  store: Store;
  narrator: Narrator;
  checks: Checks;
  /** Runs a command line of Longshore and prints what it says; returns its exit code. */
  longshore: (...args: string[]) => Promise<number>;
}

/** What the agent saw of its program. */
interface Look {
  program: string;
  before: number;
  after: number;
  /** The count with which the program has begun, if it has with this look. */
  begunAt?: number;
}

/** A conversation counts; its host is drained; the next host dies in the middle of a command. */
export async function tellStory(scene: Scene): Promise<void> {
  const { fleet, chat, until, narrator, checks } = scene;
  const first = await count(scene, 'Start the program.');
  checks.hold('the conversation counts, and its sandbox is on host "first"', first.after > first.before && (await hostOf(scene)) === 'first');
  await fleet.second.startWorker();
  narrator.tell(`worker ${fleet.second.worker} of host "second" takes work as well`);
  const moved = await drainFirst(scene, first);
  await loseSecond(scene, moved);
  await bringSecondBack(scene);

  await chat.close();
  await until('the conversation is closed', ({ type }) => type === 'conversation.closed');
  await checks.eventually('with the conversation, its sandbox is gone: neither engine has a container or a volume of one', async () => {
    return [await fleet.first.sandboxes(), await fleet.second.sandboxes()].flat().length === 0;
  });
}

async function drainFirst(scene: Scene, earlier: Look): Promise<Look> {
  const { fleet, checks, longshore } = scene;
  await longshore('hosts', 'ls');
  const code = await longshore('hosts', 'drain', 'first');
  await checks.eventually(
    'host "first" is drained: its engine has no sandbox any more',
    async () => code === 0 && (await fleet.first.sandboxes()).length === 0,
  );
  const look = await count(scene, 'Look again.');
  checks.hold('the sandbox is on host "second" now', (await hostOf(scene)) === 'second');
  const isSame = look.begunAt === undefined && look.program === earlier.program && look.before >= earlier.after;
  if (fleet.withProcesses)
    checks.hold(`the same process counts on there: ${earlier.after} on "first", then ${look.before} and ${look.after} on "second"`, isSame);
  else checks.hold(`its files are there: another program has begun at ${earlier.after}, the end of the ledger`, look.begunAt === earlier.after);
  return look;
}

async function loseSecond(scene: Scene, kept: Look): Promise<void> {
  const { fleet, chat, until, narrator, checks, longshore } = scene;
  await longshore('hosts', 'resume', 'first');
  await checks.eventually('the files of this turn are backed up', async () => isBackedUp(chat));
  const { at = '' } = (await chat.status()).backup ?? {};
  await chat.send('Look again, and then do something long.');
  const lost = await nextLook(until);
  await until('the command is under way', ({ type, data }) => type === 'tool.output' && data.text.includes('second 3'));
  await fleet.second.die();
  narrator.tell(`kill -9: worker ${fleet.second.worker} and the engine of host "second", while a command runs`, 'red');
  narrator.tell(`the ledger of the newest backup ends at ${kept.after}; ${lost.after} came after it. Host "second" counts as lost after 30 s`);

  const events: ConversationEvent[] = [];
  await until('the turn ends', (event) => events.push(event) > 0 && event.type === 'turn.finished');
  const unknown = events.flatMap((event) => (event.type === 'tool.unknown' ? [event.data.tool] : []));
  checks.hold('the call that was cut off is said to be unknown, and was not run again', unknown.join() === 'shell:run' && !events.some(isBeginning));
  const told = events.some(({ type, data }) => type === 'note' && data.text.includes(`its backup of ${at}`));
  checks.hold(`the conversation is told that it goes on with the backup of ${at}`, told);
  const { begunAt } = readLook(events.find(isLook));
  checks.hold(`it counts on from ${kept.after}, and the sandbox is on host "first"`, begunAt === kept.after && (await hostOf(scene)) === 'first');
}

async function bringSecondBack({ fleet, narrator, checks }: Scene): Promise<void> {
  await fleet.second.comeBack();
  narrator.tell('the engine and the worker of host "second" are started again');
  await checks.eventually('host "second" removes its old container and volume of the sandbox', async () => (await fleet.second.sandboxes()).length === 0);
}

/** One turn in which the agent looks at its program. */
async function count({ chat, until }: Scene, message: string): Promise<Look> {
  await chat.send(message);
  const look = await nextLook(until);
  await until('the turn ends', ({ type }) => type === 'turn.finished');
  return look;
}

async function nextLook(until: Until): Promise<Look> {
  return readLook(await until('the agent looks at its program', isLook));
}

function isLook(event: ConversationEvent): boolean {
  return event.type === 'tool.finished' && event.data.tool === 'code:run';
}

/** Of the long command: the first line of its output. */
function isBeginning(event: ConversationEvent): boolean {
  return event.type === 'tool.output' && /\bsecond 1\b/.test(event.data.text);
}

function readLook(event: ConversationEvent | undefined): Look {
  const text = event?.type === 'tool.finished' ? event.data.text : '';
  const [, program, before, after] = /program (\w+) counts: (\d+), a second later (\d+)/.exec(text) ?? [];
  if (program === undefined) throw new Error(`the agent did not see its program count: ${text}`);
  const begunAt = /begins at (\d+)/.exec(text)?.[1];
  return { program, before: Number(before), after: Number(after), ...(begunAt !== undefined && { begunAt: Number(begunAt) }) };
}

async function hostOf({ store, chat }: Scene): Promise<string | undefined> {
  return (await store.sandboxes.ofConversation(chat.id))?.hostId;
}

async function isBackedUp(chat: Chat): Promise<boolean> {
  const { backup } = await chat.status();
  return backup?.at !== undefined && backup.due !== true;
}

import { spawn, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Chat, ConversationEvent, StartOptions } from '../../../src/client.ts';
import { png } from '../attachments/samples.ts';
import { readArchive } from '../export/read-archive.ts';
import { resultsOf, untilEvent, type Installation } from '../support.ts';
import { BELOW_ROOT, CLIENT_CALLS, ENTRIES } from './agents.ts';
import { remember } from './person.ts';
import { say, sendOnce, untilAnswered } from './say.ts';

/** A kind of conversation: what its first message has, and what is done with it. Gives the other conversations that came of it. */
export interface Kind {
  message?: Pick<StartOptions, 'attachments' | 'output'>;
  converse(this: void, chat: Chat): Promise<Chat[] | void>;
}

const IMAGE = png(20_000);

/** One conversation of each kind, all at the same time. */
export function kindsOf(installation: Installation, random: () => number): Record<string, Kind> {
  return {
    tree: {
      async converse(chat) {
        expect(await chat.reply()).toBe('The tree has worked.');
        const below = (await installation.longshore.list({ limit: 1000 })).filter(({ status }) => status.parent?.path.includes(chat.id));
        expect(below).toHaveLength(BELOW_ROOT);
      },
    },
    client: { converse: (chat) => serveFromProcesses(installation, chat, random) },
    long: {
      async converse(chat) {
        expect(await chat.reply()).toBe('It was long.');
        await untilEvent(chat, ({ type }) => type === 'context.compacted');
      },
    },
    rewinder: { converse: rewind },
    forker: { converse: fork },
    attacher: { message: { attachments: [{ name: 'chart.png', data: IMAGE }] }, converse: attach },
    writer: { converse: (chat) => write(installation, chat) },
    paused: { converse: (chat) => pauseAgainAndAgain(chat, random) },
    judged: replies('It was judged.'),
    form: {
      async converse(chat) {
        expect(await chat.answer()).toEqual({ high: '12:04' });
      },
    },
    asked: { message: { output: field('high') }, converse: askForValues },
    asking: replies('It was allowed.'),
    remembering: { converse: (chat) => remember(installation, chat) },
    coder: replies('The code has worked.'),
    toolsmith: replies('All tools have worked.'),
  };
}

function replies(text: string): Kind {
  return {
    async converse(chat) {
      expect(await chat.reply()).toBe(text);
    },
  };
}

/** The schema of an answer with one text. */
function field(name: string) {
  return { type: 'object', properties: { [name]: { type: 'string' } }, required: [name] };
}

/** Each message says by itself what its answer has to fit. */
async function askForValues(chat: Chat): Promise<void> {
  expect(await chat.answer()).toEqual({ high: '12:04' });
  expect(await say(chat, 'In words?')).toBe('It is high at noon.');
  const third = await sendOnce(chat, 'And the low tide?', { output: field('low') });
  expect(await chat.answer(undefined, third)).toEqual({ low: '18:20' });
}

async function lastLines(chat: Chat): Promise<string[]> {
  const { stdout } = (await resultsOf(chat)).at(-1) as { stdout: string };
  return stdout.trim().split('\n');
}

/** The tools of a conversation are run by a process that is killed in its first call, before or after it has given the result, and by its successor. */
async function serveFromProcesses(installation: Installation, chat: Chat, random: () => number): Promise<void> {
  const program = fileURLToPath(new URL('client-process.ts', import.meta.url));
  const over = new AbortController();
  const counted: string[] = [];
  const lives = [String(Math.floor(random() * 400))];
  const serving = (async () => {
    while (!over.signal.aborted) {
      const child = spawn(process.execPath, ['--import', 'tsx', program, chat.id, ...lives.splice(0)], {
        env: installation.environment,
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const end = () => child.kill('SIGKILL');
      over.signal.addEventListener('abort', end, { once: true });
      for await (const line of createInterface(child.stdout)) counted.push(line);
      await ended(child);
    }
  })();
  try {
    expect(await chat.reply()).toBe('The client has counted.');
  } finally {
    over.abort();
    await serving;
  }
  // A handler may begin again when its process was killed; each call was run.
  expect(new Set(counted).size).toBe(CLIENT_CALLS);
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

async function rewind(chat: Chat): Promise<void> {
  expect(await chat.reply()).toBe('First.');
  expect(await say(chat, 'Again.')).toBe('Second.');
  const [first] = await chat.checkpoints();
  await untilAnswered(() => chat.rewind(first?.checkpointId ?? ''));
  expect(await say(chat, 'Anew.')).toBe('Second.');
  const shown = (await chat.transcript()).flatMap(({ entry, rewound }) =>
    entry.role === 'tool' && !rewound ? [JSON.stringify(entry.content.map((part) => (part.type === 'text' ? part.text : '')))] : [],
  );
  expect(shown[1]).toContain('first');
  expect(shown[1]).not.toContain('second');
}

/** Two forks at once, and a fork of one of them; each has the lines of its place and its own. */
async function fork(chat: Chat): Promise<Chat[]> {
  expect(await chat.reply()).toBe('First.');
  const first = (await chat.transcript())[0]?.turnId ?? '';
  const [one, two] = await Promise.all([chat.fork({ at: first, message: 'Else.' }), chat.fork({ message: 'Else, too.' }), say(chat, 'More.')]);
  expect([await one.reply(), await two.reply()]).toEqual(['Second.', 'Second.']);
  const three = await one.fork({ message: 'Deeper.' });
  expect(await three.reply()).toBe('Third.');
  for (const each of [one, two, chat]) expect(await lastLines(each)).toEqual(['first', 'second']);
  expect(await lastLines(three)).toEqual(['first', 'second', 'third']);
  expect((await chat.status()).forks).toBe(2);
  return [one, two, three];
}

/** The image arrives whole in the sandbox, the image of a result whole in the transcript, and both in an export. */
async function attach(chat: Chat): Promise<void> {
  expect(await chat.reply()).toBe('I have saved it.');
  const digest = createHash('sha256').update(IMAGE).digest('hex');
  expect((await lastLines(chat))[0]).toContain(digest);
  const images = (await chat.transcript()).flatMap(({ entry }) =>
    entry.role === 'user' || entry.role === 'tool' ? entry.content.flatMap((part) => (part.type === 'image' && 'blob' in part ? [part.blob] : [])) : [],
  );
  expect(images).toHaveLength(2);
  expect(images[0]).toBe(`sha256:${digest}`);
  const archive = await untilAnswered(async () => readArchive(await chat.export()));
  const transcript = (archive.get('transcript.jsonl') ?? '').trim().split('\n');
  expect(transcript).toHaveLength((await chat.transcript()).length);
  for (const blob of images) {
    const { data } = await chat.attachment(blob);
    expect(`sha256:${createHash('sha256').update(data).digest('hex')}`).toBe(blob);
    expect([...archive.keys()]).toContain(`attachments/${blob.replace(':', '-')}`);
  }
}

/** Plans, memory and skills: each is written once, in order. */
async function write({ longshore }: Installation, chat: Chat): Promise<void> {
  expect(await chat.reply()).toBe('All is written.');
  const plans = (await eventsUntil(chat, 'turn.finished')).flatMap(({ type, data }) => (type === 'plan.changed' ? [data['items']] : []));
  expect(plans).toEqual(ENTRIES.map((text) => [{ text, status: 'in_progress' }]));
  const path = 'log.md';
  const owner = { user: (await chat.status()).userId };
  const history = await longshore.memory.history(path, owner);
  expect(history.map(({ version }) => version)).toEqual(ENTRIES.map((_, index) => ENTRIES.length - index));
  expect(await longshore.memory.read(path, owner)).toMatchObject({ content: ENTRIES.at(-1) });
}

async function pauseAgainAndAgain(chat: Chat, random: () => number): Promise<void> {
  const over = new AbortController();
  const pausing = (async () => {
    while (!over.signal.aborted) {
      await new Promise((resolve) => setTimeout(resolve, 300 + random() * 1200));
      await untilAnswered(() => chat.pause({ mode: random() < 0.5 ? 'now' : 'step' }));
      await new Promise((resolve) => setTimeout(resolve, random() * 400));
      await untilAnswered(() => chat.resume());
    }
  })();
  try {
    expect(await chat.reply()).toBe('I was paused.');
  } finally {
    over.abort();
    await pausing;
  }
}

async function eventsUntil(chat: Chat, last: ConversationEvent['type']): Promise<ConversationEvent[]> {
  const events: ConversationEvent[] = [];
  for await (const event of chat.events()) {
    events.push(event);
    if (event.type === last) break;
  }
  return events;
}

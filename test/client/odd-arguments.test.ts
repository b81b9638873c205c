import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, LongshoreError, type Longshore } from '../../src/client.ts';
import { ERRORS } from '../../src/contracts/error-rows.ts';
import { runCommand } from '../../src/platform/run-command.ts';
import { newConversation, openTestStore } from '../store/support.ts';

type TestStore = Awaited<ReturnType<typeof openTestStore>>;
let stack: TestStore;
let longshore: Longshore;
let conversationId: string;
const MANY = Object.fromEntries(Array.from({ length: 201_000 }, (_, index) => [`k${index}`, 0]));
const HUGE = 'x'.repeat(100 * 1024 * 1024);

beforeAll(async () => {
  stack = await openTestStore();
  const agents = await mkdtemp(join(tmpdir(), 'longshore-odd-'));
  await writeFile(join(agents, 'a.yaml'), 'model: openai/gpt-5\ninstructions: Key ${env.LONGSHORE_TEST_UNSET}.\n');
  longshore = await connect({ databaseUrl: stack.url, agents, taskQueue: 'longshore-odd' });
  conversationId = await newConversation(stack.store);
});
afterAll(async () => {
  await longshore[Symbol.asyncDispose]();
  await stack[Symbol.asyncDispose]();
});

const cyclic: Record<string, unknown> = {};
cyclic['self'] = cyclic;
const throwing = () =>
  Object.defineProperties({}, Object.fromEntries(['id', 'agent', 'user', 'callId', 'limit', 'mode', 'whenBusy', 'afterSeq', 'note', 'extraTurns', 'lazy', 'a'].map((key) => [key, { enumerable: true, get: () => { throw new RangeError('a getter'); } }]))); // prettier-ignore
const HOSTILE: [string, () => unknown][] = [
  ['undefined', () => undefined],
  ['null', () => null],
  ['NaN', () => NaN],
  ['Infinity', () => Infinity],
  ['-1', () => -1],
  ['1.5', () => 1.5],
  ['true', () => true],
  ['an object', () => ({})],
  ['an unknown key', () => ({ 'odd\u202Ekey': 1 })],
  ['an array', () => [{ type: 'text', text: 'Hi' }]],
  ['a symbol', () => Symbol('s')],
  ['a bigint', () => 10n],
  ['a function', () => () => 1],
  ['a date', () => new Date(NaN)],
  ['the empty text', () => ''],
  ['NUL', () => '\0'],
  ['half a character', () => 'a\uD800'],
  ['100 MB', () => HUGE],
  ['a getter that throws', throwing],
  ['itself within itself', () => cyclic],
  ['100,000 levels', () => JSON.parse(`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`) as unknown],
  ['200,000 keys', () => MANY],
  ['a proxy that throws', () => new Proxy({}, { get: () => { throw new Error('no'); }, ownKeys: () => { throw new Error('no'); }, getPrototypeOf: () => { throw new Error('no'); } })], // prettier-ignore
  ['no prototype', () => Object.create(null)],
];

type Loose = Record<string, (...args: unknown[]) => unknown>;
const start = { agent: 'a', user: 'u' };
const schedule = { id: 's', agent: 'a', user: 'u', message: 'Hi', every: '1h' };
/** Arguments after the conversation's or the plugin's id. */
const GOOD: Record<string, unknown[]> = {
  send: ['Hi', {}],
  events: [{}],
  reply: ['turn_1'],
  transcript: [0],
  pause: [{}],
  resume: [{}],
  approve: [{ callId: 'call_1', answer: 'allow' }],
  'plugins.enable': [true],
  'plugins.configure': [{}, {}],
  'webhooks.update': [{ url: 'https://a.example' }],
  'webhooks.attempts': [{ limit: 1 }],
  'webhooks.replay': [{ since: '2027-01-31T09:00:00Z' }],
  'webhooks.rotate': [{ overlap: '1h' }],
};

const MORE_FIELDS = ['tenant', 'message', 'conversationId', 'unattended', 'messageId', 'whenBusy', 'afterSeq', 'signal', 'limit', 'state', 'mode', 'note', 'extraTurns', 'hash', 'editedArguments', 'by', 'ifVersion', 'cron', 'timeZone', 'at', 'catchUp', 'maxRuns', 'keepOpen']; // prettier-ignore

/** Every method of the client with valid arguments, of which one is replaced. */
const CALLS: [string, () => Loose, unknown[]][] = [
  ['start', () => loose(longshore), [start]],
  ['chat', () => loose(longshore), ['conv_none']],
  ['list', () => loose(longshore), [{}]],
  ...['send', 'events', 'reply', 'status', 'transcript', 'pause', 'resume', 'approve', 'interrupt', 'stopAfterStep', 'cancel', 'close'].map(
    (method): [string, () => Loose, unknown[]] => [method, () => loose(longshore), ['conv_none', ...(GOOD[method] ?? [])]],
  ),
  ...['list', 'get', 'enable', 'reload', 'configure'].map((method): [string, () => Loose, unknown[]] => [
    method,
    () => loose(longshore.plugins),
    method === 'list' ? [] : ['none', ...(GOOD[`plugins.${method}`] ?? [])],
  ]),
  ...['create', 'get', 'pause', 'resume', 'trigger', 'delete'].map((method): [string, () => Loose, unknown[]] => [
    method,
    () => loose(longshore.schedules),
    method === 'create' ? [schedule] : ['none', ...(method === 'pause' ? [{}] : [])],
  ]),
  ['rotate', () => loose(longshore.keys), ['none', { overlap: '1h', tenant: 't' }]],
  ...['create', 'list', 'revoke'].map((method): [string, () => Loose, unknown[]] => [
    method,
    () => loose(longshore.keys),
    method === 'create' ? [{ name: 'n', scopes: ['admin'] }] : ['none'],
  ]),
  ['set', () => loose(longshore.limits), [{ tenant: 'none', streams: 1 }]],
  ['list', () => loose(longshore.audit), [{ actor: 'a', action: 'b', target: 'c', since: '1h', cursor: 'MQ' }]],
  ...['create', 'get', 'list', 'update', 'delete', 'enable', 'attempts', 'replay', 'rotate', 'test'].map((method): [string, () => Loose, unknown[]] => [
    method,
    () => loose(longshore.webhooks),
    method === 'create' ? [{ url: 'https://a.example', types: ['note'], agents: ['a'] }] : ['none', ...(GOOD[`webhooks.${method}`] ?? [])],
  ]),
];

function loose(value: object): Loose {
  return value as unknown as Loose;
}

/** The arguments with each one replaced, and each field of each that is an object. */
function variants(args: unknown[], value: unknown): [string, unknown[]][] {
  return args.flatMap((arg, at) => {
    const whole: [string, unknown[]] = [`argument ${at}`, args.with(at, value)];
    const fields = typeof arg === 'object' && arg !== null ? [...Object.keys(arg), ...MORE_FIELDS] : [];
    return [whole, ...fields.map((field): [string, unknown[]] => [`argument ${at}.${field}`, args.with(at, { ...(arg as object), [field]: value })])];
  });
}

/** What a call came to; an iteration is begun, and ended should it go on. */
async function outcomeOf(call: () => unknown): Promise<unknown> {
  try {
    const given = call();
    if (typeof given === 'object' && given !== null && Symbol.asyncIterator in given) {
      const iterator = (given as AsyncIterable<unknown>)[Symbol.asyncIterator]();
      await iterator.next();
      await iterator.return?.();
      return undefined;
    }
    await given;
    return undefined;
  } catch (error) {
    return error;
  }
}

test.each(HOSTILE)(
  '%s is an argument that every method takes or refuses with an error of the table',
  async (_, make) => {
    const wrong: string[] = [];
    for (const [method, target, args] of CALLS) {
      for (const [where, given] of variants(args, make())) {
        // What the defaults and the good fields make of it may well be a good call; that starts nothing here, but a conversation or a schedule.
        if ((method === 'start' || method === 'create') && make() === undefined) continue;
        const error = await outcomeOf(() => target()[method]?.(...given));
        if (error === undefined) continue;
        const isOurs = error instanceof LongshoreError && error.code in ERRORS && error.code !== 'INTERNAL' && error.message.length < 2000;
        if (!isOurs) wrong.push(`${method}, ${where}: ${error instanceof Error ? error.message.slice(0, 300) : typeof error}`);
      }
    }
    expect(wrong).toEqual([]);
  },
  120_000,
);

test.each([
  [
    'an unknown option',
    { ...start, mesage: 'Hi' },
    'options of start: "mesage" is no option. Use agent, user, message, tenant, unattended, closeWhenDone, conversationId',
  ],
  ['a number as a user', { ...start, user: 7 }, 'options of start.user: it is 7. Give a text'],
  ['a user of spaces', { ...start, user: '  ' }, 'options of start.user: "  " cannot be used. Write 1 to 200 characters'],
  ['a NUL in a tenant', { ...start, tenant: 'a\0' }, 'options of start.tenant: "a\\u0000" has a NUL character at position 1. Write 1 to 200 characters'],
  ['a number as a message', { ...start, message: 7 }, 'Message refused: it is 7, and not a text. Give a string'],
  ['parts as a message', { ...start, message: [{ type: 'text' }] }, 'Message refused: it is an array, and not a text. Give a string'],
  ['a NUL in a message', { ...start, message: 'a\0b' }, 'Message refused: it has a NUL character at position 1. Leave it out'],
  ['half a character', { ...start, message: 'ab\uDC00' }, 'Message refused: it has half a character (a lone surrogate) at position 2. Leave it out'],
  [
    'a number as an id',
    { ...start, conversationId: 5 },
    'conversationId: 5 cannot be used. Write 1 to 128 letters, digits, ".", "_" and "-", beginning with a letter or digit',
  ],
])('%s is named when a conversation is started', async (_, options, message) => {
  await expect(longshore.start(options as never)).rejects.toThrow(message);
});

test.each([
  [
    () => longshore.approve(conversationId, { callId: 'c', answer: 'yes' } as never),
    'options of approve.answer: it is "yes". Use one of allow, allow-once, deny',
  ],
  [() => longshore.list({ limit: Infinity }), 'filter of list.limit: it is Infinity. Give a finite number'],
  [() => longshore.list({ limit: 0 }), 'filter of list.limit: it is 0. Give 1 to 10000'],
  [
    () => longshore.send(conversationId, 'Hi', { whenBusy: 'now' } as never),
    'options of send.whenBusy: it is "now". Use one of queue, steer, interrupt, reject',
  ],
  [() => longshore.resume(conversationId, { extraTurns: -1 }), 'options of resume.extraTurns: it is -1. Give a whole number from 0'],
  [
    () => connect({ lasy: true } as never),
    'options of connect: "lasy" is no option. Use url, apiKey, temporalAddress, temporalNamespace, databaseUrl, taskQueue, agents, lazy, log',
  ],
  [() => connect({ agents: [{}] } as never), 'options of connect.agents: it is an array. Give a directory, or an array of agents'],
  [() => connect(7 as never), 'options of connect: it is 7. Give an object'],
])('what is wrong is named: %#', async (call, message) => {
  await expect(call()).rejects.toThrow(message);
});

test('a client needs no secrets of an agent; the worker does', async () => {
  const { loadAgents } = await import('../../src/definitions/agents/load-agents.ts');
  const directory = await mkdtemp(join(tmpdir(), 'longshore-odd-'));
  await writeFile(join(directory, 'a.yaml'), 'model: openai/gpt-5\ninstructions: Key ${env.LONGSHORE_TEST_UNSET}.\n');
  await expect(loadAgents(directory)).rejects.toThrow('a.yaml:2: instructions: the environment variable LONGSHORE_TEST_UNSET is not set');
  expect((await loadAgents(directory, undefined, 'leave')).get('a')).toMatchObject({ instructions: 'Key ${env.LONGSHORE_TEST_UNSET}.' });
  // What is no secret but needed to know the agent at all is named by its variable.
  await writeFile(join(directory, 'a.yaml'), 'model: ${env.LONGSHORE_TEST_UNSET}\ninstructions: Hi.\n');
  await expect(loadAgents(directory, undefined, 'leave')).rejects.toThrow('the environment variable LONGSHORE_TEST_UNSET is not set');
});

test('any number of calls may wait on one client at once without a warning', async () => {
  const program = `
    import { connect } from './src/client.ts';
    const longshore = await connect({ databaseUrl: ${JSON.stringify(stack.url)}, lazy: true });
    const waiting = Array.from({ length: 30 }, () => longshore.reply(${JSON.stringify(conversationId)}).catch((error) => error.code));
    const shared = new AbortController();
    const chat = await longshore.chat(${JSON.stringify(conversationId)});
    const followed = Array.from({ length: 30 }, async () => { for await (const _ of chat.events({ signal: shared.signal })); return 'ended'; });
    while ((await longshore.status(chat)).state === undefined);
    shared.abort();
    console.log((await Promise.all(followed)).length);
    await longshore[Symbol.asyncDispose]();
    console.log((await Promise.all(waiting)).length);`;
  const run = await runCommand(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program]);
  expect(run).toMatchObject({ code: 0, stderr: '', stdout: '30\n30\n' });
});

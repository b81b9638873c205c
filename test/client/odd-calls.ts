import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, LongshoreError, type Longshore } from '../../src/client.ts';
import { ERRORS } from '../../src/contracts/error-table/error-rows.ts';
import { openTestStore } from '../store/support.ts';

type TestStore = Awaited<ReturnType<typeof openTestStore>>;
type OddValue = [name: string, make: () => unknown];
type Loose = Record<string, (...args: unknown[]) => unknown>;
type Call = [method: string, target: () => Loose, args: unknown[]];
/** A place for a value in the arguments of a method: a whole argument, or a field of one. */
export interface Place {
  /** Number of the method. */
  method: number;
  /** Number of the place in its method, and how many its method has. */
  at: number;
  of: number;
}

const MANY = Object.fromEntries(Array.from({ length: 201_000 }, (_, index) => [`k${index}`, 0]));
const DEEP: unknown = JSON.parse(`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`);
const HUGE = 'x'.repeat(100 * 1024 * 1024);

const cyclic: Record<string, unknown> = {};
cyclic['self'] = cyclic;
const throwing = () =>
  Object.defineProperties({}, Object.fromEntries(['id', 'agent', 'user', 'callId', 'limit', 'mode', 'whenBusy', 'afterSeq', 'note', 'extraTurns', 'lazy', 'a'].map((key) => [key, { enumerable: true, get: () => { throw new RangeError('a getter'); } }]))); // prettier-ignore
export const ODD_VALUES: OddValue[] = [
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
  ['a getter that throws', throwing],
  ['itself within itself', () => cyclic],
  ['100,000 levels', () => DEEP],
  ['a proxy that throws', () => new Proxy({}, { get: () => { throw new Error('no'); }, ownKeys: () => { throw new Error('no'); }, getPrototypeOf: () => { throw new Error('no'); } })], // prettier-ignore
  ['no prototype', () => Object.create(null)],
];

/** Values that take long to read. */
export const LARGE_VALUES: OddValue[] = [
  ['100 MB', () => HUGE],
  ['200,000 keys', () => MANY],
];

export const start = { agent: 'a', user: 'u' };
const schedule = { id: 's', agent: 'a', user: 'u', message: 'Hi', every: '1h' };
/** Arguments after the conversation's or the plugin's id. */
const GOOD: Record<string, unknown[]> = {
  send: ['Hi', {}],
  events: [{}],
  reply: ['turn_1'],
  answer: [undefined, 'turn_1'],
  transcript: [0],
  fork: [{ at: 'turn_1', files: 'none' }],
  diff: [{ from: 'cp_1_a', to: 'cp_2_b', paths: ['a'], patch: true }],
  export: [{ files: false }],
  attachment: [`sha256:${'0'.repeat(64)}`],
  pause: [{}],
  resume: [{}],
  approve: [{ callId: 'call_1', answer: 'allow' }],
  claimCall: [{ callId: 'call_1', holder: 'a', leaseMs: 1000 }],
  giveResult: [{ callId: 'call_1', result: {}, isError: false, holder: 'a' }],
  tools: [{ open_file: () => undefined }, {}],
  revokeAllowed: ['shell:run', { by: 'ada' }],
  'memory.read': ['a.md', { user: 'u', version: 1 }],
  'memory.write': ['a.md', 'text', { user: 'u', version: 7 }],
  'memory.delete': ['a.md', { user: 'u', version: 1 }],
  'memory.history': ['a.md', { user: 'u' }],
  'plugins.enable': [true],
  'plugins.configure': [{}, {}],
  'webhooks.update': [{ url: 'https://a.example' }],
  'webhooks.attempts': [{ limit: 1 }],
  'webhooks.replay': [{ since: '2027-01-31T09:00:00Z' }],
  'webhooks.rotate': [{ overlap: '1h' }],
};

const MORE_FIELDS = ['tenant', 'message', 'attachments', 'conversationId', 'unattended', 'messageId', 'whenBusy', 'afterSeq', 'signal', 'limit', 'state', 'mode', 'note', 'extraTurns', 'hash', 'editedArguments', 'by', 'ifVersion', 'cron', 'timeZone', 'at', 'output', 'catchUp', 'maxRuns', 'keepOpen']; // prettier-ignore

/** Every method of the client with valid arguments, of which one is replaced. */
const callsOf = (longshore: Longshore): Call[] => [
  ['start', () => loose(longshore), [start]],
  ['chat', () => loose(longshore), ['conv_none']],
  ['list', () => loose(longshore), [{}]],
  ...[
    'send',
    'events',
    'reply',
    'answer',
    'status',
    'transcript',
    'fork',
    'diff',
    'export',
    'attachment',
    'pause',
    'resume',
    'approve',
    'waitingCalls',
    'claimCall',
    'giveResult',
    'tools',
    'revokeAllowed',
    'interrupt',
    'stopAfterStep',
    'cancel',
    'compact',
    'close',
  ].map((method): Call => [method, () => loose(longshore), ['conv_none', ...(GOOD[method] ?? [])]]),
  ...['list', 'get', 'enable', 'reload', 'configure'].map((method): Call => [
    method,
    () => loose(longshore.plugins),
    method === 'list' ? [] : ['none', ...(GOOD[`plugins.${method}`] ?? [])],
  ]),
  ...['create', 'get', 'pause', 'resume', 'trigger', 'delete'].map((method): Call => [
    method,
    () => loose(longshore.schedules),
    method === 'create' ? [schedule] : ['none', ...(method === 'pause' ? [{}] : [])],
  ]),
  ['rotate', () => loose(longshore.keys), ['none', { overlap: '1h', tenant: 't' }]],
  ...['create', 'list', 'revoke'].map((method): Call => [
    method,
    () => loose(longshore.keys),
    method === 'create' ? [{ name: 'n', scopes: ['admin'] }] : ['none'],
  ]),
  ...['list', 'read', 'write', 'delete', 'history'].map((method): Call => [method, () => loose(longshore.memory), GOOD[`memory.${method}`] ?? [{ user: 'u' }]]),
  ['set', () => loose(longshore.limits), [{ tenant: 'none', streams: 1 }]],
  ['list', () => loose(longshore.audit), [{ actor: 'a', action: 'b', target: 'c', since: '1h', cursor: 'MQ' }]],
  ...['create', 'get', 'list', 'update', 'delete', 'enable', 'attempts', 'replay', 'rotate', 'test'].map((method): Call => [
    method,
    () => loose(longshore.webhooks),
    method === 'create' ? [{ url: 'https://a.example', types: ['note'], agents: ['a'] }] : ['none', ...(GOOD[`webhooks.${method}`] ?? [])],
  ]),
];

function loose(value: object): Loose {
  return value as unknown as Loose;
}

/** The arguments with each one replaced, and each field of each that is an object. */
function variants(args: unknown[], value: unknown): { where: string; given: unknown[] }[] {
  return args.flatMap((arg, at) => {
    const whole = { where: `argument ${at}`, given: args.with(at, value) };
    const fields = typeof arg === 'object' && arg !== null ? [...Object.keys(arg), ...MORE_FIELDS] : [];
    return [whole, ...fields.map((field) => ({ where: `argument ${at}.${field}`, given: args.with(at, { ...(arg as object), [field]: value }) }))];
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

/** What is wrong with a failure that is no error of the table. */
function problemOf(error: unknown): string | undefined {
  const isOurs = error instanceof LongshoreError && error.code in ERRORS && error.code !== 'INTERNAL' && error.message.length < 2000;
  if (error === undefined || isOurs) return undefined;
  return error instanceof Error ? error.message.slice(0, 300) : typeof error;
}

/** Gives a value at each place that is taken, and returns what failed otherwise than with an error of the table. */
export async function wrongAnswers(longshore: Longshore, make: () => unknown, isTaken: (place: Place) => boolean = () => true): Promise<string[]> {
  const wrong: string[] = [];
  for (const [number, [method, target, args]] of callsOf(longshore).entries()) {
    const value = make();
    // What the defaults and the good fields make of it may well be a good call; that starts nothing here, but a conversation or a schedule.
    if ((method === 'start' || method === 'create') && value === undefined) continue;
    const all = variants(args, value);
    for (const [at, { where, given }] of all.entries()) {
      if (!isTaken({ method: number, at, of: all.length })) continue;
      const problem = problemOf(await outcomeOf(() => target()[method]?.(...given)));
      if (problem !== undefined) wrong.push(`${method}, ${where}: ${problem}`);
    }
  }
  return wrong;
}

/** A client with a store of its own. */
export async function openClient(): Promise<{ stack: TestStore; longshore: Longshore; [Symbol.asyncDispose](): Promise<void> }> {
  const stack = await openTestStore();
  const agents = await mkdtemp(join(tmpdir(), 'longshore-odd-'));
  await writeFile(join(agents, 'a.yaml'), 'model: openai/gpt-5\ninstructions: Key ${env.LONGSHORE_TEST_UNSET}.\n');
  const longshore = await connect({ databaseUrl: stack.url, agents, taskQueue: 'longshore-odd' });
  return {
    stack,
    longshore,
    async [Symbol.asyncDispose]() {
      await longshore[Symbol.asyncDispose]();
      await stack[Symbol.asyncDispose]();
      await rm(agents, { recursive: true });
    },
  };
}

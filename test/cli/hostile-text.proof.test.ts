import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Longshore } from '../../src/client.ts';
import { failure } from '../../src/contracts/errors.ts';
import { createLogReader } from '../../src/setup/read-log.ts';
import { runLine } from './support.ts';

/** A clipboard, a title, C1 controls as characters, a carriage return over the line, backspaces, bidi, zero width, tags, blanks that are none, a line of its own. */
const HOSTILE =
  '\u001B]52;c;aGk=\u0007\u001B]0;owned\u0007\u009B2J\u009D0;t\u009C\rOK\b\b\u202Egnp\u2066\u200B\u{E0041}\u2028\u00AD\u3164\tend\u0085\nroot# forged';
/** Everything that is not seen as a character of its own; a line break is one of the CLI. */
const UNSEEN = /[^\P{C}\n]|[\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longshore-hostile-'));
});
afterAll(() => rm(directory, { recursive: true }));

/** Every field of everything that a client answers with. */
const at = '2026-01-01T00:00:00.000Z';
const status = {
  conversationId: HOSTILE, agentId: HOSTILE, userId: HOSTILE, tenantId: HOSTILE, state: 'paused', sandboxTier: HOSTILE, turnsUsed: 1, tokensUsed: 1, storedBytes: 1,
  workedMs: 1, queued: 0, paused: { by: 'operator', note: HOSTILE }, lastTurn: { outcome: 'failed', at, message: HOSTILE },
  scheduledBy: { scheduleId: HOSTILE, at }, runningCalls: [{ callId: HOSTILE, tool: HOSTILE }], allowedTools: [{ tool: HOSTILE, by: HOSTILE, at, callId: HOSTILE }],
  pendingApprovals: [{ callId: HOSTILE, tool: HOSTILE, why: HOSTILE, hash: HOSTILE, arguments: { [HOSTILE]: HOSTILE, command: HOSTILE }, expiresAtMs: 1 }],
}; // prettier-ignore
const report = {
  hostId: HOSTILE, name: HOSTILE, version: HOSTILE, dialect: HOSTILE, description: HOSTILE, tools: [HOSTILE], alerts: [{ level: 'error', text: HOSTILE, at }], error: HOSTILE,
  configSchema: { [HOSTILE]: HOSTILE }, at, permissions: { network: [HOSTILE] }, ungranted: { network: [HOSTILE] }, denied: true, health: HOSTILE,
}; // prettier-ignore
const plugin = {
  id: HOSTILE,
  enabled: true,
  config: { [HOSTILE]: HOSTILE },
  configVersion: 1,
  configProblem: HOSTILE,
  granted: { fs: [HOSTILE] },
  reports: [report],
};
const schedule = {
  id: HOSTILE, agent: HOSTILE, user: HOSTILE, tenant: HOSTILE, message: HOSTILE, timing: { kind: 'cron', cron: HOSTILE, timeZone: HOSTILE }, paused: true, note: HOSTILE,
  nextAt: [at], keepOpen: true, catchUpMs: 1, missedRuns: 0,
  runs: [{ at, outcome: 'failed', problem: HOSTILE }, { at, outcome: 'started', conversationId: HOSTILE, state: HOSTILE, lastTurn: { outcome: 'failed', at, message: HOSTILE } }],
}; // prettier-ignore
const transcript = [
  { seq: 1, at, entry: { role: 'user', content: [{ type: 'text', text: HOSTILE }] } },
  { seq: 2, at, entry: { role: 'assistant', parts: [{ type: 'text', text: HOSTILE }, { type: 'reasoning', text: HOSTILE }, { type: 'tool-call', callId: HOSTILE, tool: HOSTILE, arguments: { command: HOSTILE } }] } },
  { seq: 3, at, entry: { role: 'tool', callId: HOSTILE, tool: HOSTILE, isError: true, content: [{ type: 'text', text: JSON.stringify({ status: HOSTILE, stdout: HOSTILE, stderr: HOSTILE, durationMs: 1 }) }] } },
  { seq: 4, at, entry: { role: 'note', text: HOSTILE } },
]; // prettier-ignore

const key = { keyId: HOSTILE, name: HOSTILE, tenantId: HOSTILE, scopes: [HOSTILE], createdAt: at, text: HOSTILE };
const audited = {
  auditId: '1',
  at,
  actor: { kind: HOSTILE, id: HOSTILE },
  tenantId: HOSTILE,
  action: HOSTILE,
  target: HOSTILE,
  details: { [HOSTILE]: HOSTILE },
};
const written = { path: HOSTILE, version: 1, bytes: 1, at, by: { kind: HOSTILE, id: HOSTILE } };
const run = { outcome: 'failed', problem: HOSTILE, conversationId: HOSTILE };
const used = { calls: 2, inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: null, knownCostUsd: 1, unpricedCalls: 1 };
const answering = {
  usage: async () => ({ from: at, to: at, group: 'user', lines: [{ ...used, key: HOSTILE, tenantId: HOSTILE }], more: true, total: used }),
  list: async () => [{ ...status, updatedAt: at, status }],
  status: async () => status,
  transcript: async () => transcript,
  plugins: { list: async () => [plugin], get: async () => plugin, enable: async () => undefined, reload: async () => undefined, configure: async () => 2 },
  limits: { list: async () => [{ tenant: HOSTILE, limits: { [HOSTILE]: 1 }, updatedAt: at }], set: async () => undefined },
  keys: { list: async () => [key], create: async () => key, rotate: async () => ({ ...key, oldEndsAt: HOSTILE }), revoke: async () => key },
  memory: {
    list: async () => [{ ...written, firstLine: HOSTILE }], read: async () => ({ ...written, content: HOSTILE }), write: async () => written,
    delete: async () => written, history: async () => [written],
  }, // prettier-ignore
  audit: { list: async () => ({ entries: [audited], next: HOSTILE }) },
  schedules: {
    list: async () => [schedule], get: async () => schedule, create: async () => schedule, pause: async () => undefined, resume: async () => schedule,
    trigger: async () => run, delete: async () => undefined,
  }, // prettier-ignore
  ...Object.fromEntries(['pause', 'resume', 'interrupt', 'approve', 'close', 'compact', 'stopAfterStep'].map((name) => [name, async () => undefined])),
  revokeAllowed: async () => ({ tool: HOSTILE, revoked: true }),
} as unknown as Longshore;
/** Every call fails with a message from elsewhere. */
const failing = (error: () => Error): Longshore => {
  const rejecting = async (): Promise<never> => {
    throw error();
  };
  const fail = (): unknown => new Proxy(rejecting, { get: (_target, name) => (name === 'then' ? undefined : fail()) });
  return new Proxy({}, { get: (_target, name) => (name === 'then' ? undefined : fail()), ownKeys: () => NAMES, getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }) }) as Longshore; // prettier-ignore
};
const NAMES = ['start', 'chat', 'list', 'send', 'events', 'reply', 'status', 'transcript', 'pause', 'resume', 'approve', 'revokeAllowed', 'interrupt', 'stopAfterStep', 'cancel', 'compact', 'close', 'plugins', 'schedules', 'keys', 'audit', 'limits', 'memory']; // prettier-ignore
const ERRORS = {
  'an error of the table': () => failure('CONVERSATION_NOT_FOUND', { conversationId: HOSTILE }),
  'an error of a library': () => Object.assign(new Error(HOSTILE, { cause: new Error(HOSTILE) }), { stack: `Error: ${HOSTILE}\n    at ${HOSTILE}` }),
};

/** The words of every command that the help names, with how many arguments it wants. */
async function commands(words: string[] = []): Promise<{ words: string[]; given: string[]; options: string[] }[]> {
  const { out } = await runLine(undefined, [...words, '--help']);
  const below = out.split(/^Commands:\n/m)[1]?.split('\n\n')[0] ?? '';
  const names = Array.from(below.matchAll(/^ {2}(\S+)/gm), ([, name = '']) => name).filter((name) => name !== 'help');
  if (names.length > 0) return (await Promise.all(names.map((name) => commands([...words, name])))).flat();
  const usage = /^Usage: longshore (.*)$/m.exec(out)?.[1] ?? '';
  const given = Array.from(usage.matchAll(/[<[]([a-z-]+)(?:\.\.\.)?[>\]]/g), ([, name = '']) => name).filter((name) => name !== 'options');
  const options = Array.from(out.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+) <[^>]*>/gm), ([, name = '']) => name);
  return [{ words, given, options }];
}

/** Where nothing answers. */
const environment = () => ({
  HOME: directory,
  LONGSHORE_HOME: join(directory, 'home'),
  LONGSHORE_AGENTS: join(directory, HOSTILE.replaceAll('/', '')),
  DATABASE_URL: `postgres://u:p@127.0.0.1:1/${encodeURIComponent(HOSTILE)}`,
  TEMPORAL_ADDRESS: '127.0.0.1:1',
  LONGSHORE_SANDBOX_BACKEND: 'local',
});
/** They start servers, build images or make files; what they are given is refused before, in the other tests. */
const STARTING = new Set(['dev', 'worker', 'setup', 'doctor', 'chat', 'template build', 'plugins new', 'plugins check']);

async function shownBy(longshore: Longshore | undefined, args: string[]): Promise<[line: string, shown: string][]> {
  const { out, err } = await runLine(longshore, args, { environment: environment() });
  return [[args.join(' '), out + err]];
}

/** No character acts, and nothing from elsewhere begins a line. */
function expectHarmless(found: [line: string, shown: string][]): void {
  const wrong = found.filter(([, shown]) => UNSEEN.test(shown) || /^root# forged/m.test(shown));
  expect(wrong.map(([line, shown]) => [line, shown.slice(0, 1500)])).toEqual([]);
}

test('no command lets text from elsewhere act on the terminal, or stand as a line of its own', async () => {
  const all = await commands();
  expect(all.length).toBeGreaterThan(45);
  const found: [string, string][] = [];
  let shown = 0;
  for (const { words, given, options } of all) {
    found.push(
      ...(await shownBy(undefined, [...words, `--${HOSTILE}`])),
      ...(await shownBy(undefined, [...words, ...given.map(() => HOSTILE), HOSTILE, HOSTILE, HOSTILE, HOSTILE].slice(0, 9))),
    );
    if (STARTING.has(words.join(' '))) continue;
    const values = given.map((name) => (name === 'answer' ? 'allow' : HOSTILE));
    for (const option of options) found.push(...(await shownBy(failing(ERRORS['an error of the table']), [...words, ...values, option, HOSTILE])));
    for (const longshore of [answering, ...Object.values(ERRORS).map(failing)]) {
      for (const more of [[], ['--json'], ['--message', HOSTILE], ['--message', HOSTILE, '--every', '1h'], ['--transcript'], ['--wait']]) {
        const lines = await shownBy(longshore, [...words, ...values, ...more]);
        shown += lines.filter(([, text]) => text.includes('52;c;aGk=')).length;
        found.push(...lines);
      }
    }
  }
  expectHarmless(found);
  expect(shown).toBeGreaterThan(100);
}, 300_000);

test('logs of a worker that a person reads are as harmless', () => {
  const read = createLogReader();
  const lines = [
    JSON.stringify({
      level: 30,
      time: 1,
      msg: HOSTILE,
      [HOSTILE]: HOSTILE,
      err: { type: HOSTILE, message: HOSTILE, stack: HOSTILE },
      deep: { [HOSTILE]: [HOSTILE] },
    }),
    JSON.stringify({ level: HOSTILE, time: HOSTILE, msg: [HOSTILE], name: HOSTILE, hostname: HOSTILE, caller: HOSTILE }),
    HOSTILE,
    `${HOSTILE} {"level":30}`,
  ];
  const shown = lines.map(read).join('');
  expect(shown).toContain('52;c;aGk=');
  expectHarmless([['log', shown]]);
});

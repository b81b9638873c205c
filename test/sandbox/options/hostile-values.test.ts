import { isFailure } from '../../../src/contracts/errors.ts';
import { checkedHandle } from '../../../src/sandbox/options/checked-handle.ts';
import { parseControl } from '../../../src/sdk/control-options.ts';
import { parseOpenOptions } from '../../../src/sdk/open-options.ts';
import type { RunOptions } from '../../../src/sandbox/api/commands.ts';
import type { RunCodeOptions } from '../../../src/sandbox/api/code.ts';
import type { WorkerHandle } from '../../../src/sandbox/api/sandbox.ts';
import type { OpenSandboxOptions } from '../../../src/sandbox.ts';
import { HOSTILE, SANDBOX_SHAPE } from '../../support/hostile-values.ts';

type AnyFunction = (...given: unknown[]) => unknown;
type Arguments = unknown[];

const nothing = () => undefined;
const { signal } = new AbortController();
const logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };

/** Calls that are right, with every option that there is. */
const run: Required<RunOptions> = {
  execId: 'one',
  cwd: '.',
  env: { A: '1' },
  user: 'user',
  timeoutMs: 1000,
  stdin: 'typed',
  maxOutputBytes: 10,
  onStdout: nothing,
  onStderr: nothing,
  signal,
  onMethodCall: nothing,
  isBegun: false,
};
const code: Required<RunCodeOptions> = {
  language: 'python',
  contextId: 'c',
  execId: 'one',
  cwd: '.',
  user: 'user',
  env: { A: '1' },
  timeoutMs: 1,
  signal,
  onMethodCall: nothing,
  isBegun: false,
  asStarted: false,
  onAbort: 'detach',
  onOutput: nothing,
  onResult: nothing,
};
const context = { language: 'python', contextId: 'c', user: 'user' };
const progress = { onBytes: nothing };
const METHODS: Record<Exclude<keyof WorkerHandle, 'sandboxId' | 'fence'>, Arguments> = {
  run: ['true', run],
  start: ['true', { ...run, onStdinError: nothing }],
  attach: ['one', { stdout: 0, stderr: 0 }, { onStdout: nothing, onStderr: nothing, signal }],
  writeStdin: ['one', 'data', { end: true }],
  closeStdin: ['one'],
  kill: ['one', 'SIGTERM'],
  execs: [],
  forget: ['one'],
  answerMethod: ['one', 1, { ok: 1 }],
  holdMethod: ['one', 1],
  concludeAt: ['one', 1],
  readFile: ['x', { encoding: 'utf-8', maxBytes: 1 }],
  readFileStream: ['x', { offset: 0, maxBytes: 1 }],
  writeFile: ['x', 'data', { mode: 0o600, encoding: 'utf-8', createDirectories: true }],
  writeFiles: [[{ path: 'x', data: 'data', mode: 0o600 }]],
  editFile: ['x', { oldText: 'a', newText: 'b' }],
  listFiles: ['x', { recursive: true, pattern: '*', maxEntries: 1 }],
  glob: ['*', { cwd: '.', hidden: true, maxEntries: 1 }],
  fileExists: ['x'],
  fileInfo: ['x'],
  removeFile: ['x', { recursive: true }],
  createDirectory: ['x', { parents: true }],
  rename: ['x', 'y'],
  uploadFile: ['x', 'y', { ...progress, mode: 0o600 }],
  downloadFile: ['x', 'y', progress],
  uploadDirectory: ['x', 'y', progress],
  downloadDirectory: ['x', 'y', { ...progress, maxBytes: 1 }],
  watch: ['x', { recursive: true }],
  openPty: [{ ptyId: 'p', command: 'sh', cwd: '.', user: 'user', env: { A: '1' }, columns: 1, rows: 1, onData: nothing }],
  attachPty: ['p', { onData: nothing, from: 0 }],
  runCode: ['1', code],
  codeContexts: [],
  interruptCode: [context],
  restartCode: [context],
  callServer: [
    { name: 'n', command: 'c', args: ['a'], env: { A: '1' }, directory: '.' },
    { method: 'm', params: {} },
    { execId: 'one', timeoutMs: 1, signal, asStarted: false, onProgress: nothing, onRestart: nothing },
  ],
  runTool: [
    { name: 'n', code: 'c', call: {} },
    { execId: 'one', timeoutMs: 1, signal, isBegun: false, asStarted: false, onTold: nothing, onPrint: nothing, onMethodCall: nothing },
  ],
  serverMark: ['n'],
  endServers: [['n']],
  createCheckpoint: [{ key: 'one', keep: 1 }],
  checkpoints: [],
  restoreCheckpoint: [
    { number: 1, at: '2026-11-24T00:00:00.000Z' },
    { key: 'one', keep: 1 },
  ],
  compareCheckpoint: [
    { from: { number: 1, at: '2026-11-24T00:00:00.000Z' }, to: { number: 2, at: '2026-11-24T00:00:00.000Z' }, paths: ['n'], mostBytes: 1 },
    nothing,
    { signal },
  ],
  packDirectory: ['n', nothing],
  connectPort: [80, { onOpen: nothing, signal }],
};
const OPEN: Required<Omit<OpenSandboxOptions, 'sandboxId'>> = {
  template: 'python',
  ...SANDBOX_SHAPE,
  env: { A: '1' },
  secrets: { A: '${env.A}' },
  metadata: { a: 1 },
  workDirectory: '/home/user',
  onTtl: 'stop',
  assets: [{ from: '/x', to: 'x' }],
  ttlMs: 1000,
  signal,
  tenantId: 'tenant',
  backend: 'local',
  databaseUrl: 'postgres://a@b/c',
  log: logger as unknown as OpenSandboxOptions['log'] & object,
};

/** Replaces one argument, or one option of it, by every hostile value, and returns which were taken; all others have to be refused in the table's words. */
async function taken(method: string, given: Arguments, call: (...given: unknown[]) => unknown): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {};
  const attempt = async (place: string, label: string, changed: Arguments) => {
    try {
      await call(...changed);
      (found[place] ??= []).push(label);
    } catch (error) {
      if (!isFailure(error, 'INVALID_ARGUMENT')) throw new Error(`${place} with ${label}: ${String(error)}`, { cause: error });
      expect(error.message).toMatch(new RegExp(`^${method}(\\.\\S+)?: .+\\. .+`, 's'));
      expect(error.message.length).toBeLessThan(2000);
      const option = method === 'answerMethod' ? undefined : place.split('.')[1];
      if (option !== undefined) expect(error.message).toContain(`.${option}`);
    }
  };
  for (const [label, value] of Object.entries(HOSTILE)) {
    for (const [index, argument] of given.entries()) {
      await attempt(String(index), label, given.with(index, value));
      if (typeof argument !== 'object' || argument === null || Array.isArray(argument)) continue;
      for (const option of Object.keys(argument)) await attempt(`${index}.${option}`, label, given.with(index, { ...argument, [option]: value }));
    }
  }
  return found;
}

/** What it means to leave an argument out, or to give a value that looks odd, is in the interface. */
const TAKEN: Record<string, string[]> = {
  array: ['array'],
  json: ['object', 'object with __proto__', 'object without prototype'],
  execId: ["'5'"],
  text: ["'5'"],
  function: ['function'],
  flag: ['true'],
  'from 0': ['0'],
  command: ['empty', "'5'"],
  variables: ['object'],
  content: ['empty', "'5'", 'NUL', 'huge text'],
};

test('every argument and option of every method takes what it is for and refuses anything else by name', async () => {
  const inner = Object.fromEntries(Object.keys(METHODS).map((name) => [name, async () => ({ ptyId: 'p' })]));
  const handle = checkedHandle({ sandboxId: 'sbx_1', ...inner } as unknown as WorkerHandle) as unknown as Record<string, AnyFunction>;
  const found: Record<string, string[]> = {};
  for (const [method, given] of Object.entries(METHODS)) {
    const call = handle[method];
    if (!call) throw new Error(`no ${method}`);
    await call(...given);
    for (const [place, labels] of Object.entries(await taken(method, given, call))) found[`${method}.${place}`] = labels;
  }
  // Whatever JSON makes of it.
  delete found['answerMethod.2.ok'];
  const odd = Object.entries(found).filter(([, labels]) => !Object.values(TAKEN).some((known) => known.join() === labels.join()));
  expect(Object.fromEntries(odd)).toEqual({});
});

test('so do those of openSandbox and of what is done with a whole sandbox', async () => {
  expect(parseOpenOptions(undefined)).toEqual({});
  expect(parseOpenOptions(OPEN)).toEqual(OPEN);
  const found = await taken('openSandbox', [OPEN], (given) => parseOpenOptions(given));
  expect(found).toEqual({
    '0': ['object'],
    '0.assets': ['array'],
    '0.backend': ["'5'"],
    '0.cpus': ['1.5'],
    '0.diskMb': ['0'],
    '0.egress': ['array'],
    '0.env': ['object'],
    '0.image': ["'5'"],
    '0.metadata': ['object', 'object with __proto__', 'object without prototype'],
    '0.readOnlyRoot': ['true'],
    '0.secrets': ['object'],
    '0.template': ["'5'"],
    '0.tenantId': ["'5'"],
    '0.workDirectory': ["'5'"],
  });
  const control = {
    keepalive: [1],
    freeze: [{ mode: 'idle' }],
    snapshot: [{ name: 'n' }],
    fork: [{ count: 1, ttlMs: 1 }],
    setEgress: [['example.org']],
  } as const;
  const takenByControl: Record<string, object> = {};
  for (const [name, given] of Object.entries(control)) {
    takenByControl[name] = await taken(name, [...given], (...changed) => parseControl(name as keyof typeof control, changed));
  }
  expect(takenByControl).toEqual({
    keepalive: {},
    freeze: { '0': ['object'] },
    snapshot: { '0': ['object'], '0.name': ["'5'"] },
    fork: { '0': ['object'] },
    setEgress: { '0': ['array'] },
  });
});

test('a value that changes after it was checked is not taken', async () => {
  const changing = (first: unknown, then: unknown) => {
    let reads = 0;
    return Object.defineProperty({}, 'A', { enumerable: true, get: () => (reads++ === 0 ? first : then) });
  };
  let seen: unknown;
  const handle = checkedHandle({ run: async (...given: unknown[]) => (seen = given) } as unknown as WorkerHandle);
  await handle.run('x', { env: changing('1', 'NUL \0') });
  expect(seen).toEqual(['x', { env: { A: '1' } }]);
  expect(() => parseOpenOptions({ metadata: changing(1, Number.NaN) })).toThrow('openSandbox.metadata: NaN is not JSON, in "A". Use texts, finite numbers');
});

test('options that are undefined count as left out', async () => {
  let seen: unknown;
  const handle = checkedHandle({ run: async (...given: unknown[]) => (seen = given) } as unknown as WorkerHandle);
  await handle.run('x', { cwd: undefined, timeoutMs: 5 } as unknown as RunOptions);
  expect(seen).toEqual(['x', { timeoutMs: 5 }]);
  await handle.run('x');
  expect(seen).toEqual(['x', undefined]);
});

test.each<[unknown, string]>([
  ['sbx_1', 'openSandbox: "sbx_1" is not an object of options. Call openSandbox({ sandboxId: "sbx_1" })'],
  [{ ttl: 5 }, 'openSandbox: there is no option "ttl". Did you mean ttlMs? The options are template, image, '],
  [{ ttlMs: Infinity }, 'openSandbox.ttlMs: Infinity is not a whole number of milliseconds from 1 to 3155760000000. Give'],
  [{ pids: -1 }, 'openSandbox.pids: -1 is not a whole number of processes from 16 to 4194304. Give'],
  [{ cpus: 0 }, 'openSandbox.cpus: 0 is not a number from 0.05 to 1024. Give'],
  [{ sandboxId: 'sbx_1', memoryMb: 100 }, 'openSandbox.memoryMb: it holds for a new sandbox only, and "sbx_1" exists. Leave one of the two out'],
  [{ metadata: { a: { b: Number.NaN } } }, 'openSandbox.metadata: NaN is not JSON, in "a.b". Use texts, finite numbers'],
  [{ env: { 'A=B': '' } }, 'openSandbox.env: "A=B" is not the name of a variable. Use a name without "="'],
  [{ egress: ['https://example.org'] }, 'openSandbox.egress: rule 1, "\\"https://example.org\\"", is not valid'],
  [{ databaseUrl: 'postgres//secret' }, 'openSandbox.databaseUrl: it is not the address of a Postgres database. Write postgres://'],
  [{ assets: [{ from: '/x', into: '/y' }] }, 'openSandbox.assets.0: there is no option "into". '],
])('%p is refused in words that help', (given, message) => {
  expect(() => parseOpenOptions(given)).toThrow(message);
});

test('a name that is no option anywhere is compared in reasonable time', () => {
  expect(() => parseOpenOptions({ ['x'.repeat(10_000_000)]: 1 })).toThrow(/^openSandbox: there is no option "x+"… \(10000000 characters\)\. The options are/);
});

test('the message about a rule of egress does not show its headers', () => {
  const egress = [{ headers: { authorization: 'Bearer sesame' }, host: 'A.test' }];
  const open = () => parseOpenOptions({ egress });
  expect(open).toThrow('rule 1');
  expect(open).not.toThrow('sesame');
});

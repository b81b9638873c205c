import { readFile } from 'node:fs/promises';
import { INTERRUPTED_MARK } from '../../src/tool-calls/run/tool-sandbox.ts';
import { createCallSandbox, type CallSandbox } from '../../src/tool-calls/run/tool-sandbox.ts';
import type { ExecuteToolArgs } from '../../src/contracts/activities.ts';
import type { WorkerHandle } from '../../src/sandbox/api/sandbox.ts';
import { createTestSandboxes, until, type TestSandboxes } from '../sandbox/lifecycle/support.ts';

const PROGRAM = new URL('../fixtures/mcp/guest-server.cjs', import.meta.url);
const owner = { sandboxId: 'sbx_changed', tenantId: 'tenant' };

/** A sandbox as two workers have it, of which the second was started with another value of its secret. */
let parts: TestSandboxes;
let before: WorkerHandle;
let after: WorkerHandle;
beforeAll(async () => {
  parts = await createTestSandboxes();
  const open = async (value: string) => {
    process.env['CHANGED_TEST_KEY'] = value;
    return (await parts.another().open(owner, { secrets: { KEY: '${env.CHANGED_TEST_KEY}' } })).handle;
  };
  before = await open('the-first-value');
  after = await open('the-second-value');
  await before.writeFile('guest-server.cjs', await readFile(PROGRAM));
});
afterAll(async () => {
  await parts[Symbol.asyncDispose]();
  delete process.env['CHANGED_TEST_KEY'];
});

function attempt(callId: string, handle: WorkerHandle): CallSandbox {
  const args = { callId, timeoutMs: 30_000 } as ExecuteToolArgs;
  return createCallSandbox({ args, isBegun: handle === after, open: async () => handle, onOutput: () => undefined, onMethodCall: () => undefined });
}

/** Each notes that it has begun, waits for a file, and notes its end. */
const python = (name: string) =>
  `import os, time\nopen('${name}', 'a').write('begin\\n')\nwhile not os.path.exists('${name}-go-on'): time.sleep(0.02)\nopen('${name}', 'a').write('end\\n')\nprint('done')`;
const bash = (name: string) => `echo begin >> ${name}; until [ -e ${name}-go-on ]; do sleep 0.02; done; echo end >> ${name}; echo done`;
const tool = (name: string) => `const fs = require('node:fs'); exports.run = async () => {
  fs.appendFileSync('${name}', 'begin\\n'); while (!fs.existsSync('${name}-go-on')) await new Promise((resolve) => setTimeout(resolve, 20));
  fs.appendFileSync('${name}', 'end\\n'); return { type: 'done', id: 0, value: 1 }; };`;
const server = { name: 'tally', command: 'node', args: ['guest-server.cjs'], env: {} };
const text = (value: string) => ({ content: [{ type: 'text', text: value }] });

test.each<[name: string, run: (sandbox: CallSandbox) => Promise<unknown>, result: object]>([
  ['context', (sandbox) => sandbox.runCode(python('context'), { language: 'python', contextId: 'a' }), { status: 'finished', stdout: 'done\n' }],
  ['program', (sandbox) => sandbox.runCode(python('program'), { language: 'python' }), { status: 'finished', stdout: 'done\n' }],
  ['script', (sandbox) => sandbox.runCode(bash('script'), { language: 'bash' }), { status: 'finished', stdout: 'done\n' }],
  ['command', (sandbox) => sandbox.exec('bash -s', { stdin: bash('command') }), { exitCode: 0, stdout: expect.objectContaining({ text: 'done\n' }) as object }],
  [
    'tool',
    (sandbox) => {
      const request = { name: 'plugin:tool', code: tool('tool'), call: {} };
      return sandbox.runTool({ request, timeoutMs: 30_000, onTold: () => undefined, ask: async () => null });
    },
    { status: 'exited', exitCode: 0 },
  ],
  [
    'request',
    (sandbox) => sandbox.callServer(server, { method: 'tools/call', params: { name: 'append', arguments: { line: 'a', until: 'request-go-on' } } }),
    { outcome: 'answered', result: text('wrote a') },
  ],
])('a %s that was begun before the secret changed is attached to, and takes effect once', async (name, run, result) => {
  const log = name === 'request' ? 'log' : name;
  const first = attempt(`call_${name}`, before);
  const cut = run(first);
  const logged = () => before.readFile(log, { encoding: 'utf-8' }).catch(() => '');
  await until(async () => (await logged()).startsWith('begin'), 'it has begun');
  first.detach();
  await expect(cut).rejects.toMatchObject({ code: 'DETACHED' });
  const second = attempt(`call_${name}`, after);
  const attached = run(second);
  await before.writeFile(`${name}-go-on`, '');
  expect(await attached).toMatchObject(result);
  expect(second.ending()).toBeUndefined();
  expect(await logged()).toMatch(/^begin.*\nend.*\n$/);
});

test('what was started in the background is found again', async () => {
  const command = bash('background');
  const { execId } = await attempt('call_background', before).start(command);
  expect(await attempt('call_background', after).start(command)).toMatchObject({ execId, command, state: 'running' });
  await before.writeFile('background-go-on', '');
});

test('code goes on in a context that has the former value, with its variables', async () => {
  const options = { language: 'python', contextId: 'b' } as const;
  await attempt('call_set', before).runCode('known = 1', options);
  expect(await attempt('call_get', after).runCode('print(known)', options)).toMatchObject({ status: 'finished', stdout: '1\n' });
});

test('an interruption is one, whatever value the secret had when it was asked for', async () => {
  await before.start(INTERRUPTED_MARK, { execId: 'call_barred-1' });
  const barred = attempt('call_barred', after);
  await expect(barred.runCode('print(1)', { language: 'python' })).rejects.toMatchObject({ code: 'INTERRUPTED' });
  expect(barred.ending()).toEqual({ kind: 'interrupted' });
  const request = { method: 'tools/call', params: { name: 'count', arguments: {} } };
  await expect(attempt('call_barred', after).callServer(server, request)).rejects.toMatchObject({ code: 'INTERRUPTED' });
});

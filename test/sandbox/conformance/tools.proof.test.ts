import type { MethodCall } from '../../../src/sandbox/api/methods.ts';
import type { RunToolOptions } from '../../../src/sandbox/api/host-methods.ts';
import type { WorkerHandle } from '../../../src/sandbox/api/sandbox.ts';
import { until } from '../lifecycle/support.ts';
import { BACKENDS, type Backend } from './backends.ts';

/** What a plugin's bundle exports, by the body of its function. */
function codeOf(body: string): string {
  return `const fs = require('node:fs'); exports.run = async (call, line, signal) => { ${body} };`;
}
const done = (value: string): string => `return { type: 'done', id: 0, value: ${value} };`;
const append = (line: string): string => `fs.appendFileSync('tool.log', '${line}\\n');`;

describe.each(BACKENDS)('code of tools in sandboxes of %s', (_name, open) => {
  let backend: Backend;
  let handle: WorkerHandle;
  let calls = 0;
  beforeAll(async () => {
    backend = await open();
    ({ handle } = backend);
  });
  afterAll(async () => {
    await backend?.[Symbol.asyncDispose]();
  });
  beforeEach(() => handle.writeFile('tool.log', ''));

  async function run(
    body: string,
    { call = {}, answer = () => undefined, ...more }: Partial<RunToolOptions> & { call?: object; answer?: (call: MethodCall) => void } = {},
  ) {
    const told: Buffer[] = [];
    const printed: Buffer[] = [];
    const options = {
      execId: `call_${(calls += 1)}-1`,
      timeoutMs: 20_000,
      onTold: (chunk: Buffer) => told.push(chunk),
      onPrint: (chunk: Buffer) => printed.push(chunk),
    };
    const request = { name: 'test:tool', code: codeOf(body), call: { ...call } };
    const { status, exitCode } = await handle.runTool(request, { ...options, onMethodCall: answer, ...more });
    const lines = Buffer.concat(told).toString().split('\n').filter(Boolean);
    return { status, exitCode, told: lines.map((line) => JSON.parse(line) as object), printed: Buffer.concat(printed).toString() };
  }
  const log = () => handle.readFile('tool.log', { encoding: 'utf-8' });

  test('it is given its call, starts at home, and tells what came of it apart from what it prints', async () => {
    const home = (await handle.run('pwd')).stdout.text.trim();
    const { told, ...rest } = await run(`console.log('printed'); line.tell('info', 'told'); ${done('[call.text, process.cwd()]')}`, {
      call: { text: 'ä€😀\n'.repeat(50_000) },
    });
    expect(rest).toEqual({ status: 'exited', exitCode: 0, printed: 'printed\n' });
    expect(told).toEqual([
      { type: 'tell', call: 0, what: 'info', text: 'told' },
      { type: 'done', id: 0, value: ['ä€😀\n'.repeat(50_000), home] },
    ]);
  });

  test('the same call twice is one, also from another worker or with other arguments', async () => {
    const letGo = new AbortController();
    const waits = `${append('begun')} while (!fs.existsSync('go-on')) await new Promise((resolve) => setTimeout(resolve, 20)); ${append('ended')} ${done('1')}`;
    const first = run(waits, { execId: 'call_twice-1', signal: letGo.signal });
    await until(async () => (await log()) !== '', 'it has begun');
    letGo.abort();
    await expect(first).rejects.toMatchObject({ code: 'DETACHED' });
    const second = run(append('other'), { execId: 'call_twice-1' });
    await handle.writeFile('go-on', '');
    expect(await second).toMatchObject({ status: 'exited', told: [{ type: 'done', id: 0, value: 1 }] });
    expect(await log()).toBe('begun\nended\n');
  });

  test('what it asks has a number and is answered; a question that a worker has received is sent to the next one as repeated', async () => {
    const asked: [number, boolean, object][] = [];
    const letGo = new AbortController();
    const asks = `const first = await line.ask('one', [1]); const second = await line.ask('two', []).catch((error) => error.message); ${done('[first, second]')}`;
    const execId = 'call_asks-1';
    const leave = ({ number, repeated, arguments: given }: MethodCall) => {
      asked.push([number, repeated, given]);
      letGo.abort();
    };
    await expect(run(asks, { execId, signal: letGo.signal, answer: leave })).rejects.toMatchObject({ code: 'DETACHED' });
    const answer = ({ number, repeated, arguments: given }: MethodCall) => {
      asked.push([number, repeated, given]);
      void handle.answerMethod(execId, number, number === 1 ? { ok: 'eins' } : { error: { code: 'TOOL_FAILED', message: 'no second' } });
    };
    expect(await run(asks, { execId, isBegun: true, answer })).toMatchObject({ told: [{ value: ['eins', 'no second'] }] });
    expect(asked).toEqual([
      [1, false, { what: 'one', args: [1] }],
      [1, true, { what: 'one', args: [1] }],
      [2, false, { what: 'two', args: [] }],
    ]);
  });

  test('at its time limit and when it is killed its signal aborts, and it has a moment to end by itself', async () => {
    const tidies = `await new Promise((resolve) => signal.addEventListener('abort', resolve)); ${append('tidied')} ${done('1')}`;
    expect(await run(tidies, { timeoutMs: 1_000 })).toMatchObject({ status: 'timeout' });
    const killed = run(`line.tell('info', 'up'); ${tidies}`, { execId: 'call_killed-1', onTold: () => void handle.kill('call_killed-1') });
    expect(await killed).toMatchObject({ status: 'killed' });
    expect(await run('await new Promise((resolve) => setTimeout(resolve, 600_000));', { timeoutMs: 500 })).toMatchObject({ status: 'timeout', told: [] });
    expect(await log()).toBe('tidied\ntidied\n');
  });
});

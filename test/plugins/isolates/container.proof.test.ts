import { MockActivityEnvironment } from '@temporalio/testing';
import { createLogLimits } from '../../../src/tool-calls/log-limits.ts';
import { contextFor } from '../../../src/tool-calls/run/tool-context.ts';
import type { ToolRun } from '../../../src/tool-calls/run/tool-run.ts';
import { createCallSandbox } from '../../../src/tool-calls/run/tool-sandbox.ts';
import { deferred } from '../../../src/common/deferred.ts';
import type { Plugin } from '../../../src/plugins/api/define-plugin.ts';
import type { WorkerHandle } from '../../../src/sandbox/api/sandbox.ts';
import { until } from '../../e2e/support.ts';
import { createTestSandboxes, type TestSandboxes } from '../../sandbox/lifecycle/support.ts';
import { newConversation } from '../../store/support.ts';
import { openWorkbench, problemOf, type Workbench } from './support.ts';

let bench: Workbench;
let parts: TestSandboxes;
let handle: WorkerHandle;
let conversationId: string;
let calls = 0;
/** What tools did and said. */
const told: string[] = [];
const printed: string[] = [];
const fetched: string[] = [];
/** Holds back the answers of the network. */
let gate: ReturnType<typeof deferred<void>> | undefined;

beforeAll(async () => {
  bench = await openWorkbench();
  parts = await createTestSandboxes();
  conversationId = await newConversation(parts.store);
  handle = (await parts.sandboxes.open({ sandboxId: 'sbx_container', conversationId, tenantId: 'tenant' }, {})).handle;
});
afterAll(async () => {
  await bench[Symbol.asyncDispose]();
  await parts[Symbol.asyncDispose]();
});

/** Source of a plugin whose tools run in the sandbox, each given by the body of its execute. */
function sourceOf(id: string, tools: Record<string, string>, { top = '', more = '', tool = '' } = {}): string {
  const list = Object.entries(tools).map(
    ([name, body]) =>
      `defineTool({ id: '${name}', description: 'd', parameters: z.object({}).loose(), isolation: 'container', timeoutMs: 20_000, ${tool} async execute(input: any, context: any) { ${body} } })`,
  );
  return `// @ts-nocheck
    import { definePlugin, defineTool } from 'longshore/plugins';\nimport { z } from 'zod';\n${top}
    export default definePlugin({ id: '${id}', ${more} tools: [${list.join(',\n')}] });`;
}

const NETWORK = `permissions: { network: ['api.example'] },`;

interface Attempt {
  callId?: string;
  /** An earlier attempt has begun the call. */
  again?: boolean;
  /** Detaches from it, as a worker does that stops. */
  release?: AbortSignal;
}

/** Runs a tool as an activity does. */
async function run(
  plugin: Plugin,
  toolId: string,
  input: object = {},
  { callId = `call_${(calls += 1)}`, again = false, release }: Attempt = {},
): Promise<unknown> {
  const tool = plugin.tools.find(({ id }) => id === toolId)!;
  const ids = { conversationId, userId: 'user-1', tenantId: 'tenant', agentId: 'agent-1', turnId: 'turn-1', stepId: 'step-1', callId };
  const args = { ...ids, tool: `${plugin.id}:${toolId}`, hash: '', timeoutMs: 20_000, needsSandbox: true };
  const onOutput = (stream: string, chunk: Buffer) => void printed.push(`${stream} ${chunk.toString()}`);
  const sandbox = createCallSandbox({ args, isBegun: again, open: async () => handle, onOutput, onMethodCall: () => undefined });
  release?.addEventListener('abort', () => sandbox.detach());
  const services = { environment: (name: string) => `value of ${name}`, configOf: () => ({ unit: 'fathom' }), fetchFor: () => fetch };
  const log = { info: (_values: object, line: string) => told.push(`info ${line}`), warn: (_values: object, line: string) => told.push(`warn ${line}`) };
  const progress = { line: (line: string) => told.push(`heartbeat ${line}`) };
  const registered = { ...tool, id: args.tool, pluginId: plugin.id, environment: ['HARBOUR_KEY'] };
  const logging = { log, logLimits: createLogLimits(log) };
  const toolRun = { args, claim: { attempt: again ? 2 : 1 }, tool: registered, services, ...logging, progress, store: parts.store } as unknown as ToolRun;
  const execute = () => tool.execute(input as never, contextFor(toolRun, sandbox, new AbortController().signal));
  // The environment logs what is thrown in it.
  const outcome: { value: unknown } | { error: Error } = await new MockActivityEnvironment().run(() =>
    execute().then(
      (value) => ({ value }),
      (error: Error) => ({ error }),
    ),
  );
  if ('error' in outcome) throw outcome.error;
  return outcome.value;
}

async function fetch(url: string | URL, init: RequestInit = {}): Promise<Response> {
  fetched.push(`${init.method ?? 'GET'} ${String(url)}`);
  await gate?.promise;
  return new Response('fetched', { status: 201 });
}

test('the code of a tool runs in the sandbox, with the whole Node and the files there', async () => {
  await handle.writeFile('/home/user/data.txt', 'in the sandbox');
  const top = `import { execFile as execFileOf } from 'node:child_process';\nimport { readFile } from 'node:fs/promises';\nimport { promisify } from 'node:util';
    const execFile = promisify(execFileOf);`;
  const look = `const { stdout } = await execFile('hostname'); return { host: stdout.trim(), cwd: process.cwd(), text: await readFile('data.txt', 'utf8'), n: input.n };`;
  const plugin = await bench.load('inside', sourceOf('inside', { look }, { top }));
  const host = (await handle.run('hostname')).stdout.text.trim();
  expect(await run(plugin, 'look', { n: 3 })).toEqual({ host, cwd: '/home/user', text: 'in the sandbox', n: 3 });
});

test('it uses what it was given, through the worker', async () => {
  const plugin = await bench.load(
    'given',
    sourceOf(
      'given',
      {
        all: `context.logger.info('hello', { a: 1 }); context.heartbeat('half');
        await context.send('hi'); await context.note('noted'); await context.store.set('k', { deep: [1] });
        const response = await context.fetch('https://api.example/x', { method: 'POST', body: 'b' });
        const path = await context.files.put({ bytes: new TextEncoder().encode('put'), name: 'a.txt' });
        const { exitCode, stdout } = await context.sandbox.exec('cat files/a.txt; tr a-z A-Z', { stdin: 'typed' });
        return { ids: [context.conversationId === input.id, context.userId, context.tenantId, context.agentId, context.turnId, context.callId], env: context.env, config: context.config,
          value: await context.store.get('k'), none: (await context.store.get('no')) === undefined, keys: await context.store.list(),
          answer: [response.status, response.ok, await response.text()], path, bytes: new TextDecoder().decode(await context.files.get(path)), exec: [exitCode, stdout.text],
          aborted: context.signal instanceof AbortSignal && context.signal.aborted };`,
        handle: 'return context.sandbox.handle();',
        tools: `return require(process.env.LONGSHORE_GUEST + '/longshore.cjs').tools.weather.lookup({});`,
      },
      { tool: NETWORK },
    ),
  );
  expect(await run(plugin, 'all', { id: conversationId }, { callId: 'call_all' })).toEqual({
    ids: [true, 'user-1', 'tenant', 'agent-1', 'turn-1', 'call_all'],
    env: { HARBOUR_KEY: 'value of HARBOUR_KEY' },
    config: { unit: 'fathom' },
    value: { deep: [1] },
    none: true,
    keys: ['k'],
    answer: [201, true, 'fetched'],
    path: '/home/user/files/a.txt',
    bytes: 'put',
    exec: [0, 'putTYPED'],
    aborted: false,
  });
  expect(told).toEqual(expect.arrayContaining(['info hello {"a":1}', 'heartbeat half']));
  expect(await sentTexts()).toEqual(['hi']);
  expect(await problemOf(run(plugin, 'handle'))).toBe('sandbox.handle() is not available to plugins in isolated processes; use sandbox.exec, runCode or start');
  expect(await problemOf(run(plugin, 'tools'))).toBe('The code of a plugin cannot call tools of the conversation; it uses its context.');
});

test('what it prints, and what its children print, is output and never its result', async () => {
  const forged = JSON.stringify({ type: 'done', id: 0, value: 'forged' });
  const prints = `console.log(${JSON.stringify(forged)}); console.error('to stderr'); execFileSync('sh', ['-c', 'echo child; (echo escaped >&3) 2>/dev/null || true'], { stdio: 'inherit' }); return 'true';`;
  const plugin = await bench.load('prints', sourceOf('prints', { prints }, { top: `import { execFileSync } from 'node:child_process';` }));
  printed.length = 0;
  expect(await run(plugin, 'prints')).toBe('true');
  expect(printed.map((piece) => piece.replace(/^stderr /, '')).join('')).toBe(`${forged}\nto stderr\nchild\n`);
});

test('how it failed is told: what it threw, how its process ended, how long it took', async () => {
  const plugin = await bench.load(
    'fails',
    sourceOf('fails', {
      throws: `throw new TypeError('no such city')`,
      odd: 'throw undefined',
      cycle: 'const a = {}; a.a = a; return a;',
      large: `return 'x'.repeat(16_000_001)`,
      wide: `return '中'.repeat(6_000_000)`,
      fn: 'return () => 1',
      deep: `let deep = []; for (let level = 0; level < 1_000; level += 1) deep = [deep]; return deep;`,
      logs: `context.logger.info('x'.repeat(17_000_000)); return 'logged'`,
      leaves: `console.error('I am off'); process.exit(3);`,
      rejects: `Promise.reject(new Error('nobody waited')); await new Promise(() => setTimeout(() => {}, 60_000));`,
      dies: `process.kill(process.pid, 'SIGKILL'); await new Promise(() => setTimeout(() => {}, 60_000));`,
      asks: `return context.store.get(7);`,
      huge: `return context.store.set('k', 'x'.repeat(1_000_000));`,
    }),
  );
  const problem = (tool: string) => problemOf(run(plugin, tool));
  expect(await problem('throws')).toBe('no such city');
  expect(await problem('odd')).toBe('undefined');
  expect(await problem('cycle')).toContain('circular');
  expect(await problem('large')).toBe('its result has 16000034 bytes as JSON; at most 16000000 are allowed');
  expect(await problem('wide')).toBe('its result has 18000033 bytes as JSON; at most 16000000 are allowed');
  expect(await problem('fn')).toBe('it returned a function, which is no JSON');
  expect(await problem('deep')).toBe('its result is nested more than 500 levels deep; return a smaller one, or a part of it as text');
  expect(await run(plugin, 'logs')).toBe('logged');
  expect(told.at(-1)).toBe(`info ${'x'.repeat(4_000)}`);
  expect(await problem('leaves')).toBe('fails:leaves failed: its process ended with exit code 3 and gave no result; its last output:\nI am off');
  expect(await problem('rejects')).toBe('an unhandled error: nobody waited');
  expect(await problem('dies')).toBe('fails:dies failed: its process ended by SIGKILL and gave no result');
  expect(await problem('asks')).toBe('Argument 1 of store.get: Invalid input: expected string, received number. See docs/guides/tools.md');
  expect(await problem('huge')).toMatch(/^a call of \d+ bytes; at most 1000000 are allowed/);
});

test('arguments are checked by its zod schema, and its load has run with its configuration', async () => {
  const top = `let unit = 'none';`;
  const more = `async load({ config }) { unit = String(config.unit ?? 'default'); },`;
  const plugin = await bench.load('checked', sourceOf('checked', { unit: 'return unit' }, { top, more, tool: 'parameters: z.object({ n: z.number() }),' }));
  expect(await problemOf(run(plugin, 'unit', { n: 'x' }))).toBe(
    'Arguments of checked:unit are not valid: /n: Invalid input: expected number, received string. Correct them and call it again',
  );
  await plugin.load?.({ env: {}, config: { unit: 'knot' }, log: () => undefined } as never);
  expect(await run(plugin, 'unit', { n: 1 })).toBe('knot');
  await plugin.updateConfig?.('self', { unit: 'mile' }, '2');
  expect(await run(plugin, 'unit', { n: 1 })).toBe(plugin.updateConfig ? 'mile' : 'knot');
});

test('at its time limit it ends, with the commands that it had asked for', async () => {
  const waits = `await context.sandbox.exec('echo $$ > pid; exec sleep 600')`;
  const heeds = `await new Promise((resolve, reject) => context.signal.addEventListener('abort', () => reject(new Error('I was told to stop'))))`;
  const plugin = await bench.load('limits', sourceOf('limits', { waits, heeds }, { tool: 'timeoutMs: 1_500,' }));
  expect(await problemOf(run(plugin, 'waits'))).toBe('limits:waits failed: it took longer than 1500 ms and was aborted');
  await until(async () => (await handle.run('kill -0 "$(cat pid)"')).exitCode !== 0, 'its command has ended');
  expect(await problemOf(run(plugin, 'heeds'))).toBe('limits:heeds failed: it took longer than 1500 ms and was aborted');
});

test('a call that another worker had begun goes on: its code runs once, and so does what it asks for', async () => {
  const work = `appendFileSync('work.log', 'begun\\n'); await context.send('first'); await context.sandbox.exec('echo command >> work.log');
    await context.sandbox.exec('echo slow >> work.log; until [ -e go ]; do sleep 0.02; done; echo done >> work.log'); await context.send('second'); return readFileSync('work.log', 'utf8');`;
  const plugin = await bench.load('lasts', sourceOf('lasts', { work }, { top: `import { appendFileSync, readFileSync } from 'node:fs';` }));
  const worker = new AbortController();
  const first = problemOf(run(plugin, 'work', {}, { callId: 'call_lasts', release: worker.signal }));
  await until(async () => (await handle.run('grep slow work.log')).exitCode === 0, 'it waits');
  worker.abort();
  expect(await first).toBe('Detached from "call_lasts-1"; it runs on in its sandbox. Follow it again with attach("call_lasts-1").');
  const second = run(plugin, 'work', {}, { callId: 'call_lasts', again: true });
  await handle.run('touch go');
  expect(await second).toBe('begun\ncommand\nslow\ndone\n');
  expect(await run(plugin, 'work', {}, { callId: 'call_lasts', again: true })).toBe('begun\ncommand\nslow\ndone\n');
  expect((await sentTexts()).filter((text) => text === 'first' || text === 'second')).toEqual(['first', 'second']);
});

test('what a worker may have sent before it ended is not sent again, and the tool is told', async () => {
  const post = `return context.fetch('https://api.example/' + input.method, { method: input.method }).then(({ status }) => status, (error) => error.message);`;
  const plugin = await bench.load('posts', sourceOf('posts', { post }, { tool: NETWORK }));
  const outcomes: unknown[] = [];
  for (const method of ['POST', 'GET']) {
    gate = deferred();
    const worker = new AbortController();
    const first = problemOf(run(plugin, 'post', { method }, { callId: `call_${method}`, release: worker.signal }));
    await until(async () => fetched.includes(`${method} https://api.example/${method}`), 'it was asked for');
    worker.abort();
    await first;
    gate.resolve();
    gate = undefined;
    outcomes.push(await run(plugin, 'post', { method }, { callId: `call_${method}`, again: true }));
  }
  expect(outcomes).toEqual(['posts:post failed: the worker that was asked for fetch ended before it answered, and the request was not repeated', 201]);
  expect(fetched.filter((line) => line.endsWith('/POST')).length).toBe(1);
});

test('MaiBot tools and Nekro methods that say so run there as well, each call with what is its own', async () => {
  const mai = `import { hostname } from 'node:os';
    import { MaiBotPlugin, tool, ToolParameterInfo, ToolParamType } from 'longshore/maibot';
    class Pier extends MaiBotPlugin {
      id = 'pier'; goal = 'none';
      async onLoad() { this.goal = String((this.ctx.config as { goal?: string }).goal); } async onUnload() {} async onConfigUpdate() {}
      @tool('moor', { briefDescription: 'Moors', isolation: 'container', timeoutMs: 20_000,
        parameters: [new ToolParameterInfo({ name: 'ship', paramType: ToolParamType.STRING }), new ToolParameterInfo({ name: 'lines', paramType: ToolParamType.INTEGER, required: false, default: 2 })] })
      async moor({ ship, lines, stream_id, user_id }: any) { await this.ctx.send.text('moored ' + ship, stream_id); return { ship, lines, user_id, goal: this.goal, host: hostname() }; }
    }
    export const createPlugin = () => new Pier();`;
  const nekro = `import { hostname } from 'node:os';
    import { NekroPlugin, SandboxMethodType } from 'longshore/nekro';
    const plugin = new NekroPlugin({ name: 'Sums', moduleName: 'sums', description: 'Adds', version: '1', author: 'me' });
    /** Adds.
     *
     * Args:
     *     a (int): One.
     *     b (int): The other.
     */
    plugin.mountSandboxMethod(SandboxMethodType.TOOL, 'sum', '', { isolation: 'container', timeoutMs: 20_000 })(async function add(ctx: any, a: number, b: number) {
      await plugin.store.set({ storeKey: 'last', value: a + b });
      return [a + b, await ctx.store.get({ storeKey: 'last' }), ctx.userId, plugin.getConfig(), hostname()];
    });
    export default plugin;`;
  const host = (await handle.run('hostname')).stdout.text.trim();
  const pier = await bench.load('pier', mai);
  await pier.load?.({ env: {}, config: { goal: 3 }, log: () => undefined } as never);
  expect(await run(pier, 'moor', { ship: 'Argo' })).toEqual({ ship: 'Argo', lines: 2, user_id: 'user-1', goal: '3', host });
  expect(await sentTexts()).toContain('moored Argo');
  const sums = await bench.load('sums', nekro);
  expect(await run(sums, 'add', { a: 1, b: 2 })).toEqual([3, 3, 'user-1', { unit: 'fathom' }, host]);
});

test('modules of Node are for tools in the sandbox: others of the plugin are told, and a plugin without such tools is not loaded', async () => {
  const top = `import { hostname } from 'node:os';\nimport EventEmitter from 'node:events';\nclass Bell extends EventEmitter {}\nconst here = hostname();`;
  const mixed = sourceOf('mixed', { inside: 'return [typeof hostname(), here === hostname(), new Bell() instanceof EventEmitter];' }, { top }).replace(
    'tools: [',
    `tools: [defineTool({ id: 'outside', description: 'd', parameters: { type: 'object' }, execute: async () => hostname() }),`,
  );
  const plugin = await bench.load('mixed', mixed);
  expect(plugin.tools.map(({ id, isolation }) => `${id} ${isolation}`)).toEqual(['outside compartment', 'inside container']);
  expect(await run(plugin, 'inside')).toEqual(['string', true, true]);
  expect(await problemOf(run(plugin, 'outside'))).toBe('"node:os" is available only while a tool with isolation container runs');
  const without = bench.load('without', mixed.replace("isolation: 'container'", "isolation: 'compartment'"));
  expect(await problemOf(without)).toBe(
    'Plugin "without": index.ts:4: "node:os" does not exist in a compartment; use context.env with permissions.env. Correct it, give the tools that need it isolation container, or ask the operator to load this plugin with isolation host',
  );
});

async function sentTexts(): Promise<string[]> {
  const events = await parts.store.events.read(conversationId, 0);
  return events.flatMap(({ type, data }) => (type === 'message.sent' ? [(data as { part: { text: string } }).part.text] : []));
}

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MockActivityEnvironment } from '@temporalio/testing';
import { createLogLimits } from '../../../src/tool-calls/log-limits.ts';
import { contextFor } from '../../../src/tool-calls/run/tool-context.ts';
import type { ToolRun } from '../../../src/tool-calls/run/tool-run.ts';
import { createCallSandbox } from '../../../src/tool-calls/run/tool-sandbox.ts';
import { createLogger } from '../../../src/platform/log.ts';
import { createGuardedFetch } from '../../../src/network/guarded-fetch.ts';
import type { Permissions } from '../../../src/plugins/api/define-plugin.ts';
import { openIsolates, type Isolates } from '../../../src/plugins/isolates/load-isolated.ts';
import type { PluginManager } from '../../../src/plugins/manager/plugin-manager.ts';
import type { WorkerHandle } from '../../../src/sandbox/api/sandbox.ts';
import { newConversation } from '../../store/support.ts';
import { startOutside, type Outside } from '../../sandbox/lifecycle/outside.ts';
import { createTestSandboxes, type TestSandboxes } from '../../sandbox/lifecycle/support.ts';
import { openManagerBench, type Workbench } from './manager-workbench.ts';

const PERMISSIONS = ['time', 'network', 'env', 'fs', 'random'] as const;
type Permission = (typeof PERMISSIONS)[number];
type Cell = { granted: string; denied: string };

const VALUE = 'sesame-4711';
let outside: Outside;
let parts: TestSandboxes;
let isolates: Isolates;
let bench: Workbench;
let manager: PluginManager;
/** With all that an agent can give a sandbox, and with nothing. */
const sandboxes: Partial<Record<keyof Cell, WorkerHandle>> = {};
let file: string;
let url: string;
let calls = 0;

beforeAll(async () => {
  process.env['MATRIX_KEY'] = VALUE;
  outside = await startOutside();
  isolates = await openIsolates({ log: createLogger({ LONGSHORE_LOG_LEVEL: 'silent' }) });
  bench = await openManagerBench(isolates);
  file = join(bench.directory, 'readable.txt');
  url = `http://open.test:${outside.ports.http}/`;
  await writeFile(file, 'readable');
  parts = await createTestSandboxes({ config: { LONGSHORE_EGRESS_ADDRESSES: '127.0.0.1' }, terms: { resolve: outside.resolve } });
  const generous = { egress: [{ host: 'open.test', ports: [outside.ports.http] }], secrets: { MATRIX_KEY: '${env.MATRIX_KEY}' } };
  for (const [what, options] of [['granted', generous] as const, ['denied', {}] as const]) {
    const owner = { sandboxId: `sbx_${what}`, conversationId: await newConversation(parts.store), tenantId: 't' };
    sandboxes[what] = (await parts.sandboxes.open(owner, options)).handle;
  }
  const everything = { time: true, random: true, network: ['open.test'], env: ['MATRIX_KEY'], fs: [file] };
  for (const [what, permissions] of [['granted', everything] as const, ['denied', {}] as const]) {
    await bench.write(`${what}-compartment/index.ts`, sourceOf(`${what}-compartment`, 'compartment', permissions, fenced()));
    await bench.write(
      `${what}-container/index.ts`,
      sourceOf(`${what}-container`, 'container', permissions, {
        ...inSandbox(what),
        ...ownOf(fenced()),
        'asked-network': `return (await context.fetch('${url}')).text()`,
      }),
    );
    await bench.write(`${what}-host/index.mjs`, sourceOf(`${what}-host`, 'host', permissions, inWorker(), 'longshore'));
  }
  const names = ['compartment', 'container', 'host'].flatMap((isolation) => [`./granted-${isolation}`, `./denied-${isolation}`]);
  manager = await bench.open(names, { hostPlugins: ['./granted-host', './denied-host'] });
});
afterAll(async () => {
  await bench[Symbol.asyncDispose]();
  await isolates[Symbol.asyncDispose]();
  await parts[Symbol.asyncDispose]();
  await outside[Symbol.asyncDispose]();
  delete process.env['MATRIX_KEY'];
});

/** Functions in an isolated process. */
function fenced(): Record<Permission, string> {
  return {
    time: 'return typeof Date.now()',
    network: `return (await fetch('${url}')).text()`,
    env: 'return context.env.MATRIX_KEY ?? "nothing"',
    fs: `return readFile('${file}')`,
    random: 'return typeof Math.random()',
  };
}

/** Commands in the conversation's sandbox; a granted file of the host gets there through the tool's function. */
function inSandbox(what: keyof Cell): Record<Permission, string> {
  const put = `await context.files.put({ bytes: new TextEncoder().encode(await readFile('${file}')), name: 'readable.txt' })`;
  return {
    time: say('test "$(date +%s)" -gt 1000000000 && echo its own clock'),
    network: say(`curl --silent --show-error --max-time 20 --noproxy none ${url}`),
    env: say('test -n "$MATRIX_KEY" && printenv MATRIX_KEY'),
    fs: say(`cat \${${what === 'granted' ? put : `'${file}'`}}`),
    random: say('head -c 4 /dev/urandom | wc -c'),
  };
}

function say(command: string): string {
  return `const { exitCode, stdout, stderr } = await context.sandbox.exec(\`${command}\`); return exitCode + ' ' + (stdout.text + stderr.text).trim();`;
}

/** The worker's own process needs no permission. */
function inWorker(): Record<Permission, string> {
  return {
    time: 'return typeof Date.now()',
    network: `return (await fetch('http://127.0.0.1:${outside.ports.http}/')).text()`,
    env: 'return process.env.MATRIX_KEY ?? "nothing"',
    fs: `return (await import('node:fs/promises')).readFile('${file}', 'utf8')`,
    random: 'return typeof Math.random()',
  };
}

function ownOf(bodies: Record<Permission, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(bodies).map(([name, body]) => [`own-${name}`, body]));
}

function sourceOf(id: string, isolation: string, permissions: Permissions, bodies: Record<string, string>, style = 'bundled'): string {
  const tools = Object.entries(bodies).map(
    ([tool, body]) => `{ id: '${tool}', description: 'd', parameters: { type: 'object' }, kind: 'tool', annotations: {}, timeoutMs: 30000,
      isolation: '${isolation}', permissions: ${JSON.stringify(permissions)}, execute: async (input, context) => { ${body} } }`,
  );
  const plugin = `{ id: '${id}', tools: [${tools.join(', ')}] }`;
  return style === 'bundled'
    ? `// @ts-nocheck\nimport { definePlugin } from 'longshore/plugins';\nexport default definePlugin(${plugin});`
    : `export default ${plugin};`;
}

/** Runs a tool with the context that an activity gives it, except the network, where the outside is on this machine. */
async function run(what: keyof Cell, isolation: string, toolId: string): Promise<string> {
  const tool = manager.registry.get(`${what}-${isolation}:${toolId}`);
  const handle = sandboxes[what];
  if (!tool || !handle) throw new Error(`no tool ${what}-${isolation}:${toolId}`);
  calls += 1;
  const ids = { conversationId: 'conv', userId: 'u', tenantId: 't', agentId: 'a', turnId: 'turn', stepId: 'step', callId: `call_${calls}`, tool: tool.id };
  const args = { ...ids, hash: '', timeoutMs: 30_000, needsSandbox: true };
  const sandbox = createCallSandbox({ args, isBegun: false, open: async () => handle, onOutput: () => undefined, onMethodCall: () => undefined });
  await using network = createGuardedFetch({ hosts: tool.permissions.network ?? [], resolve: outside.resolve, allowAddresses: ['127.0.0.1'] });
  const services = { environment: (name: string) => process.env[name], configOf: () => ({}), fetchFor: () => network.fetch };
  const log = createLogger({ LONGSHORE_LOG_LEVEL: 'silent' });
  const toolRun = { args, tool, services, log, logLimits: createLogLimits(log), store: parts.store } as unknown as ToolRun;
  const execute = () => tool.execute({}, contextFor(toolRun, sandbox, new AbortController().signal)).then(String, (error: Error) => error.message);
  // Waited for: the network ends with this function.
  return await new MockActivityEnvironment().run(execute);
}

/** What the functions of isolated tools may do: what the tool was granted. */
const FENCED: Record<Permission, Cell> = {
  time: { granted: 'number', denied: 'secure mode Calling %SharedDate%.now() throws; the clock is available only while a tool with permissions.time runs' },
  network: { granted: 'hello from open.test', denied: 'fetch is not a function; the network is available only while a tool with permissions.network runs' },
  env: { granted: VALUE, denied: 'nothing' },
  fs: { granted: 'readable', denied: 'readFile is not a function; reading files is available only while a tool with permissions.fs runs' },
  random: { granted: 'number', denied: 'secure mode %SharedMath%.random() throws; chance is available only while a tool with permissions.random runs' },
};
/** What the functions of tools in the sandbox may do: as commands there, and what the tool was granted they have through their context. */
const SANDBOXED: Record<Permission, Cell> = {
  time: { granted: 'number', denied: 'number' },
  network: { granted: 'hello from open.test', denied: 'fetch failed' },
  env: { granted: '*'.repeat(VALUE.length), denied: 'nothing' },
  fs: { granted: 'readable', denied: 'readFile is not defined; reading files is available only while a tool with permissions.fs runs' },
  random: { granted: 'number', denied: 'number' },
};
/**
 * What commands in the sandbox may do: what the agent gave the sandbox. Clock and chance are its own; hosts are those of `egress`, variables those of `secrets`,
 * masked where they are printed; no file of the host is there but what was put there.
 */
const COMMANDS: Record<Permission, Cell> = {
  time: { granted: '0 its own clock', denied: '0 its own clock' },
  network: { granted: '0 hello from open.test', denied: '6 curl: (6) Could not resolve host: open.test' },
  env: { granted: `0 ${'*'.repeat(VALUE.length)}`, denied: '1 ' },
  fs: { granted: '0 readable', denied: '' },
  random: { granted: '0 4', denied: '0 4' },
};
/** What runs in the worker may do all that the worker may: to name a plugin in LONGSHORE_HOST_PLUGINS is to grant it everything. */
const HOST: Record<Permission, Cell> = {
  time: { granted: 'number', denied: 'number' },
  network: { granted: 'hello from 127.0.0.1', denied: 'hello from 127.0.0.1' },
  env: { granted: VALUE, denied: VALUE },
  fs: { granted: 'readable', denied: 'readable' },
  random: { granted: 'number', denied: 'number' },
};

describe.each(PERMISSIONS)('%s', (permission) => {
  test.each([
    ['compartment', permission, FENCED[permission]],
    ['container', `own-${permission}`, SANDBOXED[permission]],
    ['container', permission, COMMANDS[permission]],
    ['host', permission, HOST[permission]],
  ])('%s (%s)', async (isolation, tool, { granted, denied }) => {
    expect(await run('granted', isolation, tool)).toBe(granted);
    expect(await run('denied', isolation, tool)).toBe(denied || `1 cat: ${file}: No such file or directory`);
  });
});

test("a tool in the sandbox has the network that it was granted through its context, whatever the sandbox's own is", async () => {
  expect(await run('granted', 'container', 'asked-network')).toBe('hello from open.test');
  expect(await run('denied', 'container', 'asked-network')).toBe(`Request to "${url}" refused: this tool has no permission for the network`);
});

test('plugins that run in the worker are logged when they are loaded', () => {
  expect(bench.logged.filter((line) => line.includes('LONGSHORE_HOST_PLUGINS'))).toEqual(
    Array(2).fill("a plugin runs in the worker's own process, as LONGSHORE_HOST_PLUGINS says"),
  );
});

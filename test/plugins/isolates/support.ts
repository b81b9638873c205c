import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Logger } from '../../../src/platform/log.ts';
import type { Permissions, Plugin, ToolContext } from '../../../src/plugins/api/define-plugin.ts';
import { bundlePlugin } from '../../../src/plugins/isolates/bundle-plugin.ts';
import { openIsolates, type Isolates, type IsolatesOptions } from '../../../src/plugins/isolates/load-isolated.ts';

/** Isolates with a directory for the sources of plugins. */
export interface Workbench extends AsyncDisposable {
  directory: string;
  isolates: Isolates;
  /** What was logged for plugins at large. */
  logged: string[];
  /** Loads a plugin from the source of its index.ts. */
  load(name: string, source: string, permissions?: Permissions): Promise<Plugin>;
}

export async function openWorkbench(options: Partial<IsolatesOptions> = {}): Promise<Workbench> {
  const directory = await mkdtemp(join(tmpdir(), 'longshore-isolates-test-'));
  const logged: string[] = [];
  const write = (values: object, text: string) => logged.push(`${text} ${JSON.stringify(values)}`);
  const log = { info: write, warn: write, error: write } as unknown as Logger;
  const isolates = await openIsolates({ log, unresponsiveMs: 1_000, graceMs: 300, ...options });
  return {
    directory,
    isolates,
    logged,
    async load(name, source, permissions = {}) {
      await mkdir(join(directory, name), { recursive: true });
      await writeFile(join(directory, name, 'index.ts'), source);
      return isolates.load({ name, ...(await bundlePlugin(name, { entry: join(directory, name, 'index.ts') })), permissions });
    },
    async [Symbol.asyncDispose]() {
      await isolates[Symbol.asyncDispose]();
      await rm(directory, { recursive: true });
    },
  };
}

/** Source of a plugin with tools, each given by the body of its execute. */
export function sourceOf(id: string, tools: Record<string, string>, more: { permissions?: Permissions; timeoutMs?: number; top?: string } = {}): string {
  const { permissions = {}, timeoutMs = 10_000, top = '' } = more;
  const list = Object.entries(tools).map(
    ([tool, body]) =>
      `defineTool({ id: '${tool}', description: 'd', parameters: { type: 'object' }, timeoutMs: ${timeoutMs}, permissions: ${JSON.stringify(permissions)}, async execute(input: any, context: any) { ${body} } })`,
  );
  return `import { definePlugin, defineTool } from 'longshore/plugins';\n${top}\nexport default definePlugin({ id: '${id}', tools: [${list.join(',\n')}] });`;
}

export interface TestContext extends ToolContext {
  told: string[];
  abort(reason: Error): void;
}

/** A context whose parts are fakes that remember; what a test needs otherwise it gives. */
export function contextOf(conversationId: string, more: Partial<ToolContext> = {}): TestContext {
  const controller = new AbortController();
  const told: string[] = [];
  const values = new Map<string, unknown>();
  const parts = {
    conversationId,
    userId: 'user-1',
    tenantId: 'tenant-1',
    agentId: 'agent-1',
    turnId: 'turn-1',
    callId: 'call-1',
    signal: controller.signal,
    env: {},
    config: {},
    logger: { info: (line: string) => told.push(`info ${line}`), warn: (line: string) => told.push(`warn ${line}`) },
    heartbeat: (line: string) => told.push(`heartbeat ${line}`),
    fetch: async () => new Response('fetched', { status: 201, headers: { 'x-a': 'b' } }),
    send: async (part: unknown) => void told.push(`send ${JSON.stringify(part)}`),
    message: async () => undefined,
    note: async (text: string, { wake = false }: { wake?: boolean } = {}) => void told.push(`note ${text}${wake ? ' and wake' : ''}`),
    store: {
      get: async (key: string) => values.get(key),
      set: async (key: string, value: unknown) => (values.set(key, value), 'created'),
      list: async () => [...values.keys()],
    },
    files: { get: async () => new Uint8Array([0, 255]), put: async (source: { bytes?: Uint8Array }) => `/home/user/files/${source.bytes?.length}` },
    sandbox: { exec: async (command: string) => ({ exitCode: 0, stdout: `ran ${command}` }) },
    told,
    abort: (reason: Error) => controller.abort(reason),
  };
  return { ...parts, ...more } as unknown as TestContext;
}

export async function run(plugin: Plugin, tool: string, input: object = {}, context: ToolContext = contextOf('conv-1')): Promise<unknown> {
  return plugin.tools.find(({ id }) => id === tool)!.execute(input as never, context);
}

export async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`it did not come about in time: ${condition.toString()}`);
    await new Promise((done) => setTimeout(done, 5));
  }
}

/** The message of what a call throws. */
export async function problemOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    (value) => `no error, but ${JSON.stringify(value)}`,
    (error: Error) => error.message,
  );
}

/** Ids of the processes that a process has started and that still run. */
export async function childrenOf(pid: number): Promise<string[]> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return children
    .trim()
    .split(' ')
    .filter((child) => child !== '' && isRunning(Number(child)));
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

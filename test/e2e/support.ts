import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { stringify } from 'yaml';
import { connect, type Chat, type ConversationEvent, type Longshore } from '../../src/client.ts';
import { runCommand } from '../../src/platform/run-command.ts';
import { loadConfig } from '../../src/platform/config.ts';
import type { JsonObject } from '../../src/contracts/json.ts';
import type { Sandboxes } from '../../src/sandbox/api/host-sandboxes.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { builtProgram } from '../support/built-programs.ts';
import { createTestDatabase, testInstallation } from '../support/databases.ts';
import { endSandboxes } from '../support/end-sandboxes.ts';

/** Everything is old enough to be reaped. */
const LONG_AGO_MS = -60_000;

/** A worker in a process of its own. */
export interface WorkerProcess {
  pid: number;
  ready: Promise<void>;
  /** Kills it as the kernel would: nothing of it runs any more when this resolves. */
  kill(): Promise<void>;
  /** Asks it to stop and waits until it has; gives its exit code. */
  stop(): Promise<number | null>;
}

/** An installation of its own on the shared servers: database, task queue, agents, workers, containers. */
export interface Installation extends AsyncDisposable {
  name: string;
  longshore: Longshore;
  store: Store;
  /** Of its workers; a program that runs with it uses this installation. */
  environment: NodeJS.ProcessEnv;
  /** `more`: what its environment has besides. */
  startWorker(more?: NodeJS.ProcessEnv): WorkerProcess;
  /** Names of its containers, whatever their state. */
  containers(): Promise<string[]>;
  volumes(): Promise<string[]>;
  /** Removes what workers that were killed have left on the engine, as a worker does later. */
  reap(): Promise<void>;
}

export interface ScriptedStep {
  think?: string;
  say?: string;
  call?: string;
  with?: JsonObject;
  expect?: JsonObject;
  usage?: { inputTokens: number; outputTokens: number };
  calls?: { call: string; with?: JsonObject; expect?: JsonObject }[];
}

/** Sets up an installation whose one agent, `scripted`, follows the steps. */
export function install(steps: ScriptedStep[], agent: Record<string, unknown> = {}): Promise<Installation> {
  return installAgents({ scripted: { ...agent, steps } });
}

/** An agent's keys and the steps it follows; it may call everything, unless it says otherwise. */
export interface ScriptedAgent {
  steps: ScriptedStep[];
  /** What its model answers to plugins. */
  plugin?: object;
  [key: string]: unknown;
}

/** Sets up an installation with agents by their ids. */
export async function installAgents(scripted: Record<string, ScriptedAgent>): Promise<Installation> {
  const name = testInstallation();
  const database = await createTestDatabase();
  const agents = await mkdtemp(join(tmpdir(), `${name}-`));
  await mkdir(join(agents, 'scripts'));
  for (const [id, { steps, plugin, ...keys }] of Object.entries(scripted)) {
    await writeFile(join(agents, 'scripts', `${id}.yaml`), stringify({ ...(plugin && { plugin }), steps }));
    const defaults = { id, model: `scripted/scripts/${id}.yaml`, instructions: 'Follow the script.', approval: [{ tool: '*', decide: 'allow' }] };
    await writeFile(join(agents, `${id}.yaml`), stringify({ ...defaults, ...keys, ...inRuntime(keys) }));
  }
  const environment = {
    ...process.env,
    DATABASE_URL: database.url,
    LONGSHORE_TASK_QUEUE: name,
    LONGSHORE_INSTALLATION: name,
    LONGSHORE_AGENTS: agents,
    LONGSHORE_LOG_LEVEL: 'info',
  };
  const workers = new Set<WorkerProcess>();
  const program = await builtProgram(new URL('../../src/worker-main.ts', import.meta.url));
  const longshore = await connect({ databaseUrl: database.url, taskQueue: name, agents });
  const store = await openStore({ url: database.url, log: pino({ level: 'silent' }), poolSize: 2 });
  return {
    name,
    longshore,
    store,
    environment,
    startWorker(more = {}) {
      const worker = startWorker(program, { ...environment, ...more });
      workers.add(worker);
      return worker;
    },
    containers: () => namesOf(['ps', '--all', '--filter', `label=longshore.installation=${name}`, '--format', '{{.Names}}']),
    volumes: () => namesOf(['volume', 'ls', '--filter', `label=longshore.installation=${name}`, '--format', '{{.Name}}']),
    async reap() {
      await using sandboxes = await workerOf(store, name, loadConfig().LONGSHORE_HOST_ID);
      await sandboxes.reap();
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...workers].map((worker) => worker.kill()));
      await longshore[Symbol.asyncDispose]();
      await endSandboxes(store, (hostId) => workerOf(store, name, hostId));
      await store[Symbol.asyncDispose]();
      await rm(agents, { recursive: true });
      await database[Symbol.asyncDispose]();
    },
  };
}

async function namesOf(command: string[]): Promise<string[]> {
  const { stdout } = await runCommand('docker', command);
  return stdout.split('\n').filter((line) => line !== '');
}

/** `LONGSHORE_TEST_RUNTIME`, such as `runsc`, is the runtime of all sandboxes whose agent names none. */
function inRuntime({ sandbox }: Omit<ScriptedAgent, 'steps'>): Record<string, unknown> {
  const runtime = process.env['LONGSHORE_TEST_RUNTIME'];
  return runtime === undefined ? {} : { sandbox: { runtime, ...(sandbox as Record<string, unknown> | undefined) } };
}

/** What ends the sandboxes of workers that were killed. It is loaded here because many tests have no sandbox. */
async function workerOf(store: Store, installation: string, hostId: string): Promise<Sandboxes> {
  const { createDockerSandboxes } = await import('../../src/sandbox/lifecycle/docker-sandboxes.ts');
  const config = { ...loadConfig(), LONGSHORE_INSTALLATION: installation, LONGSHORE_HOST_ID: hostId };
  return createDockerSandboxes({ config, store, log: pino({ level: 'silent' }), reapGraceMs: LONG_AGO_MS });
}

function startWorker(program: string, environment: NodeJS.ProcessEnv): WorkerProcess {
  const child = spawn(process.execPath, [program], { env: environment, stdio: ['ignore', 'ignore', 'pipe'] });
  const said = lastWords(child);
  const ready = untilReady(child, said);
  let isReady = false;
  let isAsked = false;
  const ended = once(child, 'exit');
  ready.then(
    () => (isReady = true),
    () => undefined,
  );
  child.once('exit', (code, signal) => {
    if (isReady && !isAsked) console.error(`a worker ended, though the test did not end it (${code ?? signal}): ${said()}`);
  });
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    isAsked = true;
    child.kill(signal);
    const [code] = (await ended) as [number | null];
    return code;
  };
  return {
    pid: child.pid ?? 0,
    ready,
    async kill() {
      await end('SIGKILL');
    },
    stop: () => end('SIGTERM'),
  };
}

/** The last that a worker wrote to its log. */
function lastWords(child: ChildProcess): () => string {
  let said = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString()).slice(-100_000);
    if (process.env['LONGSHORE_TEST_SHOW_WORKER']) process.stderr.write(chunk);
  });
  return () => said.slice(-4000);
}

/** A worker that ends before it is ready fails its `ready`, with the last lines of its log. */
function untilReady(child: ChildProcess, said: () => string): Promise<void> {
  const ready = new Promise<void>((resolve, reject) => {
    child.stderr?.on('data', () => {
      if (said().includes('worker ready')) resolve();
    });
    child.once('exit', (code, signal) => reject(new Error(`the worker ended before it was ready (${code ?? signal}): ${said()}`)));
  });
  return ready;
}

/** Waits for the first event, old or new, that is meant. */
export async function untilEvent(chat: Chat, isMeant: (event: ConversationEvent) => boolean): Promise<ConversationEvent> {
  const stop = new AbortController();
  try {
    for await (const event of chat.events({ signal: stop.signal })) if (isMeant(event)) return event;
  } finally {
    stop.abort();
  }
  throw new Error('the conversation closed before the event came');
}

/** Waits until something is so. */
export async function until(condition: () => Promise<boolean>, what: string): Promise<void> {
  const deadline = Date.now() + 180_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`waited too long until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The JSON results of the conversation's calls, in order, by what the model was shown. */
export async function resultsOf(chat: Chat): Promise<JsonObject[]> {
  const entries = await chat.transcript();
  return entries.flatMap(({ entry }) => {
    if (entry.role !== 'tool') return [];
    const text = entry.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
    try {
      return [JSON.parse(text) as JsonObject];
    } catch {
      return [{ text, isError: entry.isError }];
    }
  });
}

/** A field of an event that has to be a text. */
export function textIn(data: ConversationEvent['data'] | undefined, name: string): string {
  const value = data?.[name];
  if (typeof value !== 'string') throw new Error(`${name} is no text: ${JSON.stringify(value)}`);
  return value;
}

import { spawn } from 'node:child_process';
import { mkdir, open, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { failure } from '../contracts/errors.ts';
import { withLock } from '../platform/lock.ts';
import { isAlive, isGone, nameProcess } from '../platform/process-identity.ts';
import { isListening } from './ports.ts';

const POLL_MS = 50;
const STOP_TIMEOUT_MS = 20_000;
/** Becomes the program when it is told to. If this process dies before it has noted the server, the server never begins: no server is left that the next start does not know. */
const WAITING = 'read -r _ && exec "$0" "$@" </dev/null';

export interface ServerProcessOptions<Facts> {
  /** Name for messages, such as `Temporal`. */
  name: string;
  program: string;
  args: string[];
  env?: Record<string, string>;
  /** The user to run as. Default: the user of this process. */
  runAs?: { uid: number; gid: number };
  /** Stores which processes the server and its owner are, so that the next start finds a server whose owner was killed. */
  stateFile: string;
  logFile: string;
  port: number;
  /** What a client of the server has to know; stored in the state file for processes that share the server. */
  facts: Facts;
  /** Whether the server can be used; polled until it can. */
  isReady: (facts: Facts) => Promise<boolean>;
  readyTimeoutMs: number;
  stopSignal: 'SIGINT' | 'SIGTERM';
  /** Aborts a start that is in progress, and ends its server. */
  signal?: AbortSignal | undefined;
}

export interface ServerProcess<Facts> {
  /** May differ from the given ones when another process owns the server. */
  facts: Facts;
  pid: number;
  /** True when another living process owns the server; `stop` has no effect then. */
  shared: boolean;
  stop: () => Promise<void>;
}

interface State<Facts> {
  pid: number;
  ownerPid: number;
  /** The same processes by names that do not come again. Missing in a file of a version before. */
  server?: string;
  owner?: string;
  facts: Facts;
}

/**
 * Starts a server of the development stack, or shares the one that another process runs with the same state file. A server whose owner has
 * died is ended first. The server has its own process group: Ctrl-C reaches only this process, which then stops its servers in order.
 */
export async function startServerProcess<Facts>(options: ServerProcessOptions<Facts>): Promise<ServerProcess<Facts>> {
  options.signal?.throwIfAborted();
  // Two that start at the same time would both find none, and take the one that gets the port for their own.
  const { state, shared } = await withLock(`${options.stateFile}.lock`, () => findOrLaunch(options), options.signal);
  if (shared) {
    await untilReady(options, state);
    return { facts: state.facts, pid: state.pid, shared, stop: async () => undefined };
  }
  // The server must end with this process. After a SIGKILL of this process, the next start ends the server.
  const endWithUs = () => send(state.pid, options.stopSignal);
  process.once('exit', endWithUs);
  const stop = async () => {
    process.off('exit', endWithUs);
    await endProcess(state.pid, options.stopSignal);
    await rm(options.stateFile, { force: true });
  };
  try {
    await untilReady(options, state);
  } catch (error) {
    await stop();
    throw error;
  }
  return { facts: state.facts, pid: state.pid, shared, stop };
}

async function findOrLaunch<Facts>(options: ServerProcessOptions<Facts>): Promise<{ state: State<Facts>; shared: boolean }> {
  const earlier = await readState<Facts>(options.stateFile);
  if (earlier && !(await isGone(earlier.server ?? String(earlier.pid)))) {
    if (!(await isGone(earlier.owner ?? String(earlier.ownerPid)))) return { state: earlier, shared: true };
    await endProcess(earlier.pid, options.stopSignal);
  }
  return { state: await launch(options), shared: false };
}

/** Ends a process with the signal, and with SIGKILL after 20 s. Resolves when the process has ended. */
export async function endProcess(pid: number, signal: 'SIGINT' | 'SIGTERM'): Promise<void> {
  send(pid, signal);
  const deadline = Date.now() + STOP_TIMEOUT_MS;
  while (isAlive(pid)) {
    if (Date.now() > deadline) send(pid, 'SIGKILL');
    await sleep(POLL_MS);
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has ended.
  }
}

async function readState<Facts>(file: string): Promise<State<Facts> | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as State<Facts>;
  } catch {
    return undefined;
  }
}

async function launch<Facts>(options: ServerProcessOptions<Facts>): Promise<State<Facts>> {
  if (await isListening(options.port)) {
    throw failure('SETUP_FAILED', {
      step: `Starting ${options.name}`,
      problem: `port ${options.port} of 127.0.0.1 is taken by another program`,
      fix: 'Stop that program, or choose another port: longshore dev --temporal-port, --postgres-port',
    });
  }
  for (const file of [options.logFile, options.stateFile]) await mkdir(dirname(file), { recursive: true });
  const log = await open(options.logFile, 'w');
  const child = spawn('/bin/sh', ['-c', WAITING, options.program, ...options.args], {
    detached: true,
    stdio: ['pipe', log.fd, log.fd],
    ...(options.env === undefined ? {} : { env: { ...process.env, ...options.env } }),
    ...options.runAs,
  });
  try {
    // Node emits `spawn` in the next tick, so the listeners are added before any other await.
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
  } finally {
    await log.close();
  }
  child.unref();
  // It may have ended already; `untilReady` says so.
  child.stdin?.on('error', () => undefined);
  try {
    const [pid, ownerPid] = [child.pid ?? 0, process.pid];
    const state = { pid, ownerPid, server: await nameProcess(pid), owner: await nameProcess(ownerPid), facts: options.facts };
    await writeFile(options.stateFile, JSON.stringify(state));
    child.stdin?.end('\n');
    return state;
  } catch (error) {
    child.stdin?.destroy();
    throw error;
  }
}

async function untilReady<Facts>(options: ServerProcessOptions<Facts>, state: State<Facts>): Promise<void> {
  const deadline = Date.now() + options.readyTimeoutMs;
  while (!(await options.isReady(state.facts))) {
    options.signal?.throwIfAborted();
    const ended = !isAlive(state.pid);
    if (!ended && Date.now() < deadline) {
      await sleep(POLL_MS);
      continue;
    }
    const said = (await readFile(options.logFile, 'utf8').catch(() => '')).trim().split('\n').slice(-5).join(' | ');
    throw failure('SETUP_FAILED', {
      step: `Starting ${options.name}`,
      problem: `${ended ? 'it ended at once' : `not ready after ${options.readyTimeoutMs / 1000} s`}: ${said}`,
      fix: `The whole log: ${options.logFile}`,
    });
  }
}

import { spawn } from 'node:child_process';
import { mkdir, open, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { failure } from '../contracts/errors.ts';
import { isAlive } from '../platform/lock.ts';
import { isListening } from './ports.ts';

const POLL_MS = 50;
const STOP_TIMEOUT_MS = 20_000;

export interface ServerProcessOptions<Facts> {
  /** For messages, such as `Temporal`. */
  name: string;
  program: string;
  args: string[];
  env?: Record<string, string>;
  /** Runs as this user instead of our own. */
  runAs?: { uid: number; gid: number };
  /** Notes who runs and for whom, so that the next start finds what a killed one left. */
  stateFile: string;
  logFile: string;
  port: number;
  /** What a user of the server has to know; kept in the state file for those who share it. */
  facts: Facts;
  /** Says whether the server can be used; polled until it can. */
  isReady: (facts: Facts) => Promise<boolean>;
  readyTimeoutMs: number;
  stopSignal: 'SIGINT' | 'SIGTERM';
  /** Ends a start that is under way, and the server with it. */
  signal?: AbortSignal | undefined;
}

export interface ServerProcess<Facts> {
  /** May differ from those asked for when the server is another process's. */
  facts: Facts;
  pid: number;
  /** True when another living process owns the server; stopping does nothing then. */
  shared: boolean;
  stop: () => Promise<void>;
}

interface State<Facts> {
  pid: number;
  ownerPid: number;
  facts: Facts;
}

/**
 * Starts a server of the development stack, or shares the one that another process runs from the same state file. One whose owner has
 * died is ended first. The server has its own process group: Ctrl-C reaches us alone, and we stop it in our order.
 */
export async function startServerProcess<Facts>(options: ServerProcessOptions<Facts>): Promise<ServerProcess<Facts>> {
  options.signal?.throwIfAborted();
  const earlier = await readState<Facts>(options.stateFile);
  if (earlier && isAlive(earlier.pid)) {
    if (isAlive(earlier.ownerPid)) {
      await untilReady(options, earlier);
      return { facts: earlier.facts, pid: earlier.pid, shared: true, stop: async () => undefined };
    }
    await endProcess(earlier.pid, options.stopSignal);
  }
  const state = await launch(options);
  // Should this process end without having stopped it, the server must not stay. What this leaves undone, a start after a SIGKILL does.
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
  return { facts: state.facts, pid: state.pid, shared: false, stop };
}

/** Ends a process by signal, by KILL when that does not help within 20 s; returns when it is gone. */
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
    // It has ended by itself.
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
  const child = spawn(options.program, options.args, {
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
    ...(options.env === undefined ? {} : { env: { ...process.env, ...options.env } }),
    ...options.runAs,
  });
  try {
    // Listened for before anything else is awaited: `spawn` is emitted in the next tick.
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
  } finally {
    await log.close();
  }
  child.unref();
  const state = { pid: child.pid ?? 0, ownerPid: process.pid, facts: options.facts };
  await writeFile(options.stateFile, JSON.stringify(state));
  return state;
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

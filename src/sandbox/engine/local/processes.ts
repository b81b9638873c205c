import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { bootId, factsOf, type ProcessFacts } from '../../../platform/process-identity.ts';

/** Identifies a process, also when a later one has the same id: by its start in clock ticks since the boot, and the id of the boot. */
export interface ProcessIdentity {
  pid: number;
  startTicks: string;
  bootId: string;
}

/** The environment variable that marks the supervisor of a sandbox and the processes that it forks. */
export const MARK = 'LONGSHORE_LOCAL_SANDBOX';
const PAUSE_MS = 10;
const KILL_ROUNDS = 500;

/** Undefined when the process does not exist or is a zombie. */
export async function identify(pid: number): Promise<ProcessIdentity | undefined> {
  const facts = await factsOf(String(pid));
  if (!facts || isDead(facts)) return undefined;
  return { pid, startTicks: facts.startTicks, bootId: await bootId() };
}

/** `stopped`: by a signal or by a debugger. */
export async function processStateOf(identity: ProcessIdentity): Promise<'running' | 'stopped' | 'gone'> {
  const facts = await factsOf(String(identity.pid));
  if (!facts || isDead(facts) || facts.startTicks !== identity.startTicks || (await bootId()) !== identity.bootId) return 'gone';
  return facts.state === 'T' || facts.state === 't' ? 'stopped' : 'running';
}

/** All living processes of a sandbox: those with its mark in their environment, and all their descendants. */
export async function processesOf(mark: string): Promise<{ pid: number; isStopped: boolean }[]> {
  const all = new Map((await everyProcess()).map((facts) => [facts.pid, facts]));
  const marked = new Set<number>();
  for (const { pid } of all.values()) if (await bears(pid, mark)) marked.add(pid);
  const belongs = (facts: ProcessFacts | undefined): boolean => facts !== undefined && (marked.has(facts.pid) || belongs(all.get(facts.parent)));
  return [...all.values()].filter((facts) => belongs(facts) && !isDead(facts)).map(({ pid, state }) => ({ pid, isStopped: state === 'T' }));
}

/** Repeats until no process runs: a process may fork after it was listed and before it is stopped. */
export async function stopAllMarked(mark: string): Promise<void> {
  for (let round = 0; round < KILL_ROUNDS; round += 1) {
    const running = (await processesOf(mark)).filter(({ isStopped }) => !isStopped);
    if (running.length === 0) return;
    for (const { pid } of running) sendSignal(pid, 'SIGSTOP');
    await sleep(PAUSE_MS);
  }
}

export async function continueAll(mark: string): Promise<void> {
  for (const { pid } of await processesOf(mark)) sendSignal(pid, 'SIGCONT');
}

export async function killAll(mark: string): Promise<void> {
  for (let round = 0; round < KILL_ROUNDS; round += 1) {
    const left = await processesOf(mark);
    if (left.length === 0) return;
    for (const { pid } of left) sendSignal(pid, 'SIGSTOP');
    for (const { pid } of left) sendSignal(pid, 'SIGKILL');
    await sleep(PAUSE_MS);
  }
}

export function sendSignal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // The process has ended.
  }
}

async function everyProcess(): Promise<ProcessFacts[]> {
  const names = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(names.map(factsOf));
  return found.filter((facts) => facts !== undefined);
}

async function bears(pid: number, mark: string): Promise<boolean> {
  // The first thread's environment cannot be read any more when it has ended; the last one in the list lives if any does.
  const thread = (await readdir(`/proc/${pid}/task`).catch(() => [])).at(-1) ?? pid;
  const environment = await readFile(`/proc/${pid}/task/${thread}/environ`, 'latin1').catch(() => '');
  return environment.split('\0').includes(`${MARK}=${mark}`);
}

function isDead({ state }: ProcessFacts): boolean {
  return state === 'Z' || state === 'X';
}

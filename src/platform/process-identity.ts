/** Which process it is, also when a later one has the same id. From /proc; where there is none (macOS), only the id is known. */
import { readdir, readFile } from 'node:fs/promises';

export interface ProcessFacts {
  pid: number;
  parent: number;
  /** The letter of /proc. A process whose first thread has ended looks like a zombie while others of its threads run on: its state is theirs. */
  state: string;
  /** The start of the process in clock ticks since the boot. */
  startTicks: string;
  threads: number;
}

const NAME = /^([1-9]\d*)(?:-(\d+)-(.*))?$/;

/** True when a process with that id lives, also when another user owns it. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** A text that no other process of this machine has: `pid-start-boot`. Only the id where there is no /proc. It can be part of a file name. */
export async function nameProcess(pid: number): Promise<string> {
  const facts = await factsOf(String(pid));
  return facts ? `${pid}-${facts.startTicks}-${await bootId()}` : String(pid);
}

/** Whether the process of a name has ended, be it reaped or not. A name that is only an id stands for any process with that id. */
export async function isGone(name: string): Promise<boolean> {
  const [, pid, startTicks, boot] = NAME.exec(name) ?? [];
  if (pid === undefined) return true;
  const facts = await factsOf(pid);
  if (!facts) return !isAlive(Number(pid));
  if (facts.state === 'Z') return true;
  return startTicks !== undefined && (startTicks !== facts.startTicks || boot !== (await bootId()));
}

/** Undefined when the process does not exist, or there is no /proc. */
export async function factsOf(pid: string): Promise<ProcessFacts | undefined> {
  const facts = await factsIn(`/proc/${pid}`);
  if (facts?.state !== 'Z' || facts.threads <= 1) return facts;
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const states = (await Promise.all(threads.map((thread) => factsIn(`/proc/${pid}/task/${thread}`)))).map((thread) => thread?.state ?? 'X');
  const living = states.filter((state) => !'ZX'.includes(state));
  return { ...facts, state: living.find((state) => !'Tt'.includes(state)) ?? living[0] ?? 'Z' };
}

async function factsIn(directory: string): Promise<ProcessFacts | undefined> {
  const line = await readFile(`${directory}/stat`, 'utf8').catch(() => '');
  // The program's name is in parentheses and may itself contain parentheses, so the last one counts.
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
  const [state, parent] = fields;
  const [threads, , startTicks] = fields.slice(17);
  if (state === undefined || parent === undefined || startTicks === undefined) return undefined;
  return { pid: Number.parseInt(line, 10), parent: Number(parent), state, startTicks, threads: Number(threads) };
}

/** Start ticks count from the boot, so they mean something only together with it. Empty where the system does not tell it. */
export async function bootId(): Promise<string> {
  try {
    return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
  } catch (error) {
    // Any other error, such as too many open files, must not look like another boot.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { factsOf, isGone, nameProcess } from '../../src/platform/process-identity.ts';
import type { Address } from './faults/way.ts';

export type ProcessKind = 'worker' | 'service';

/** A worker or an HTTP service, as users run it. */
export interface OwnProcess {
  kind: ProcessKind;
  pid: number;
  ready: Promise<void>;
  /** Where a service listens, when it is ready. */
  address(): Address | undefined;
  /** As the kernel would, without a word. */
  kill(): Promise<void>;
  /** Does what makes it end, and waits until it has. */
  endBy(cause: () => Promise<void>): Promise<void>;
  /** Asks it to stop, and gives its exit code. */
  stop(): Promise<number | null>;
}

export interface Launch {
  /** The program `longshore`. */
  program: string;
  environment: NodeJS.ProcessEnv;
  /** A directory for the log of each process. */
  logs?: string | undefined;
  /** A process has ended, and was not asked to. */
  onSurprise: (what: string) => void;
}

const WORDS = { worker: ['worker'], service: ['serve', '--address', '127.0.0.1:0'] };
const READY = { worker: /worker ready/, service: /Serving http:\/\/127\.0\.0\.1:(\d+)\. / };

export function startProcess(kind: ProcessKind, { program, environment, logs, onSurprise }: Launch): OwnProcess {
  const child = spawn(process.execPath, [program, ...WORDS[kind]], { env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
  const log = logs === undefined ? undefined : createWriteStream(join(logs, `${kind}-${child.pid}.log`));
  let said = '';
  let address: Address | undefined;
  let isAsked = false;
  const ended = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  const ready = new Promise<void>((resolve, reject) => {
    const hear = (chunk: Buffer) => {
      log?.write(chunk);
      said = (said + chunk.toString()).slice(-20_000);
      const found = address ? null : READY[kind].exec(said);
      if (!found) return;
      if (kind === 'service') address = { host: '127.0.0.1', port: Number(found[1]) };
      resolve();
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    child.once('exit', () => reject(new Error(`a ${kind} ended before it was ready: ${said.slice(-2_000)}`)));
  });
  ready.catch(() => undefined);
  child.once('exit', (code, signal) => {
    log?.end();
    address = undefined;
    if (!isAsked) onSurprise(`a ${kind} (${child.pid}) ended by itself (${code ?? signal}): ${said.trim().split('\n').slice(-3).join(' | ')}`);
  });
  const end = async (signal: NodeJS.Signals) => {
    isAsked = true;
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    const [code] = await ended;
    return code;
  };
  return {
    kind,
    pid: child.pid ?? 0,
    ready,
    address: () => address,
    async kill() {
      await end('SIGKILL');
    },
    async endBy(cause) {
      isAsked = true;
      await Promise.all([ended, cause()]);
    },
    stop: () => end('SIGTERM'),
  };
}

/** Names of the processes below one, at any depth; they can be asked for later with `isGone`. */
export async function namesBelow(root: number): Promise<string[]> {
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  const facts = (await Promise.all(pids.map(factsOf))).filter((found) => found !== undefined);
  const below = [root];
  for (const pid of below) below.push(...facts.filter(({ parent }) => parent === pid).map((child) => child.pid));
  return await Promise.all(below.slice(1).map(nameProcess));
}

/** Those of the named processes that still run. */
export async function stillRunning(names: Iterable<string>): Promise<string[]> {
  const found: string[] = [];
  for (const name of names) if (!(await isGone(name))) found.push(name);
  return found;
}

import type { Readable, Writable } from 'node:stream';
import type { ConnectOptions, Longshore } from '../client.ts';
import type { Config } from '../config.ts';

/** What a command may touch of its process; tests give their own. */
export interface Cli {
  out: Writable & { isTTY?: boolean; columns?: number; rows?: number };
  err: Writable & { isTTY?: boolean };
  in: Readable & { isTTY?: boolean; setRawMode?(raw: boolean): unknown };
  config(): Config;
  connect(options?: ConnectOptions): Promise<Longshore>;
  /** Calls `listener` at every Ctrl-C, SIGTERM and SIGHUP until the returned function is called; without one, they end the process. */
  onInterrupt(listener: () => void): () => void;
  /** Code the process is to end with; 0 until a command says otherwise. */
  exitCode: number;
}

export const EXIT = { done: 0, failed: 1, usage: 2, awaitingApproval: 3, paused: 4, serviceAway: 5, interrupted: 130 } as const;

export function printLine(cli: Cli, text = ''): void {
  cli.out.write(`${text}\n`);
}

export function printJson(cli: Cli, value: unknown): void {
  cli.out.write(`${JSON.stringify(value, undefined, 2)}\n`);
}

/** Opens a client for one piece of work and closes it, whatever comes. */
export async function withClient(cli: Cli, work: (longshore: Longshore) => Promise<void>, options?: ConnectOptions): Promise<void> {
  await using longshore = await cli.connect(options);
  await work(longshore);
}

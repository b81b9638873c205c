import type { Readable } from 'node:stream';
import type { ConnectOptions, Longshore } from '../../client.ts';
import type { Config } from '../../platform/config.ts';
import { visibleJson, visibleLine } from '../../contracts/visible-text.ts';
import type { Output, OutputStream } from './terminal.ts';

/** The raw streams of the process; commands get them as `Output`. */
export interface CliProcess extends Omit<Cli, 'out' | 'err'> {
  out: OutputStream;
  err: OutputStream;
}

/** The parts of the process that a command may use; tests pass their own. */
export interface Cli {
  out: Output;
  err: Output;
  in: Readable & { isTTY?: boolean; setRawMode?(raw: boolean): unknown };
  config(): Config;
  connect(options?: ConnectOptions): Promise<Longshore>;
  /** Calls `listener` at every Ctrl-C, SIGTERM and SIGHUP until the returned function is called; without one, they end the process. */
  onInterrupt(listener: () => void): () => void;
  /** Calls `listener` when no process reads our output any more (`| head`), until the returned function is called; without one, the command goes on. */
  onReaderGone(listener: () => void): () => void;
  /** Exit code of the process; 0 until a command sets another one. */
  exitCode: number;
}

export const EXIT = { done: 0, failed: 1, usage: 2, awaitingApproval: 3, paused: 4, serviceAway: 5, interrupted: 130 } as const;

export function printLine(cli: Cli, text = ''): void {
  cli.out.print(`${text}\n`);
}

/** Prints one line that contains untrusted parts: none of them can begin a line of its own. */
export function printFact(cli: Cli, text: string): void {
  printLine(cli, visibleLine(text));
}

export function printJson(cli: Cli, value: unknown): void {
  cli.out.printJson(`${visibleJson(value, 2)}\n`);
}

/** Prints one JSON value in one line, for programs that read line by line. */
export function printJsonLine(cli: Cli, value: unknown): void {
  cli.out.printJson(`${visibleJson(value)}\n`);
}

/** Prints text about the command that is not its result. */
export function printError(cli: Cli, text: string): void {
  cli.err.print(`${text}\n`);
}

/** Opens a client for one piece of work and always closes it. */
export async function withClient(cli: Cli, work: (longshore: Longshore) => Promise<void>, options?: ConnectOptions): Promise<void> {
  await using longshore = await cli.connect(options);
  await work(longshore);
}

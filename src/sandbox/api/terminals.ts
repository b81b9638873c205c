import type { CommandResult } from './commands.ts';

export interface PtyOptions {
  /** Id of the terminal and of its exec. Default: a new id. */
  ptyId?: string;
  /** A bash command. Default: a login shell. */
  command?: string;
  cwd?: string;
  user?: string;
  env?: Record<string, string>;
  /** Default 80 × 24. */
  columns?: number;
  rows?: number;
}
export interface PtyFollow {
  /** Output is held back while a returned promise is pending: at most 512 KiB more are delivered until it is settled. */
  onData: (chunk: Buffer) => void | Promise<void>;
}
export interface Pty {
  readonly ptyId: string;
  /** Bytes of output delivered so far. Give it as `from` to `attachPty` to continue there. */
  readonly offset: number;
  write(data: string | Uint8Array): Promise<void>;
  resize(size: { columns: number; rows: number }): Promise<void>;
  kill(): Promise<void>;
  /** Detaches: the program continues to run, and `ended` rejects with `DETACHED`. */
  detach(): void;
  readonly ended: Promise<{ status: CommandResult['status']; exitCode?: number; signal?: string }>;
}

/** Runs programs in terminals. */
export interface SandboxTerminals {
  /** Starts a program in a new terminal. It continues to run when no client is attached. */
  openPty(options: PtyOptions & PtyFollow): Promise<Pty>;
  /** Attaches to a terminal that this or another process opened. Output is delivered from the byte offset `from`, default 0. */
  attachPty(ptyId: string, options: PtyFollow & { from?: number }): Promise<Pty>;
}

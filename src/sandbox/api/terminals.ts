import type { CommandResult } from './commands.ts';

export interface PtyOptions {
  /** Its name, also the id of its exec. Made up when absent. */
  ptyId?: string;
  /** A bash command. Default a login shell. */
  command?: string;
  cwd?: string;
  user?: string;
  env?: Record<string, string>;
  /** Default 80 × 24. */
  columns?: number;
  rows?: number;
}
export interface PtyFollow {
  /** A promise holds back the output. */
  onData: (chunk: Buffer) => void | Promise<void>;
}
export interface Pty {
  readonly ptyId: string;
  /** Bytes of output delivered so far: where another attachment goes on. */
  readonly offset: number;
  write(data: string | Uint8Array): Promise<void>;
  resize(size: { columns: number; rows: number }): Promise<void>;
  kill(): Promise<void>;
  /** Lets go; the program runs on, and `ended` rejects with `DETACHED`. */
  detach(): void;
  readonly ended: Promise<{ status: CommandResult['status']; exitCode?: number; signal?: string }>;
}

/** Programs in terminals of their own. */
export interface SandboxTerminals {
  /** Starts a program in a terminal of its own. It lives on when nobody is attached. */
  openPty(options: PtyOptions & PtyFollow): Promise<Pty>;
  /** Attaches to a terminal that was opened before, here or by another process. */
  attachPty(ptyId: string, options: PtyFollow & { from?: number }): Promise<Pty>;
}

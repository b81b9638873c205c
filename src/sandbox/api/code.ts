import type { Json } from '../../contracts/json.ts';
import type { AsStarted, RunOptions } from './commands.ts';

export type CodeLanguage = 'python' | 'javascript' | 'typescript' | 'bash';
/** Short names that are taken for a language. */
export type CodeLanguageAlias = 'py' | 'js' | 'ts' | 'sh';
export interface CodeContext {
  language: CodeLanguage;
  /** Up to 40 letters, digits, `_`, `.` and `-`. JavaScript and TypeScript share their contexts. */
  contextId: string;
  /** Default `user`. Each has contexts of its own. */
  user?: string;
}
/** A context that runs. JavaScript and TypeScript share theirs. */
export interface CodeContextInfo extends CodeContext {
  language: 'python' | 'javascript';
  startedAt: string;
}
export interface RunCodeOptions extends Pick<RunOptions, 'execId' | 'cwd' | 'user' | 'env' | 'timeoutMs' | 'signal' | 'onMethodCall' | 'isBegun'>, AsStarted {
  language: CodeLanguage;
  contextId?: string;
  /**
   * What aborting the `signal` does. `interrupt`, the default: the code is ended as by `interruptCode`, which frees its context for the next piece, and the call rejects with
   * `INTERRUPTED`. `detach`: the code runs on, and the call rejects with `DETACHED`.
   */
  onAbort?: 'interrupt' | 'detach';
  /** Called for what the code prints, as it comes. */
  onOutput?: (stream: 'stdout' | 'stderr', text: string) => void;
  /** Called for each value, as it comes. */
  onResult?: (value: CodeValue) => void;
}
/** One value in all the forms in which it can be shown, by media type: texts, base 64 for images, JSON as it is. */
export type CodeValue = Record<string, Json>;
export interface CodeResult {
  execId: string;
  contextId?: string;
  /** `gone`: its process ended in the middle of it (killed, out of memory), and with it the context. */
  status: 'finished' | 'failed' | 'interrupted' | 'timeout' | 'gone' | 'concluded';
  /** Number of the call of a tool that ended it; goes with `concluded`. */
  concludedBy?: number;
  stdout: string;
  stderr: string;
  /** True when `stdout`, `stderr` or `values` are not all there was: 32 768 characters of each end, 100 values, 20 MB of them together. Write more to a file. */
  truncated: boolean;
  /** What is neither in `stdout` and `stderr` nor in `values`, and kept nowhere; what is left out within a text is said there. Absent for nothing. */
  leftOut?: { values: number; /** Of output and values that the interpreter did not pass on. */ bytes: number };
  /** Of bash: where the whole of a stream is, inside the sandbox, when it was cut. */
  stdoutPath?: string;
  stderrPath?: string;
  values: CodeValue[];
  error?: { type: string; message: string; traceback: string };
  /** 1 for the first piece of a context: nothing of earlier pieces is there. */
  executionCount?: number;
  durationMs: number;
}

/** Runs pieces of code, in contexts that keep their variables. */
export interface SandboxCode {
  /**
   * Runs a piece of code. With `contextId` its variables live on for the next piece (python, javascript, typescript); without, it has a
   * process of its own. The same `execId` twice is one run. Failing code is a value, not an error.
   */
  runCode(code: string, options: Omit<RunCodeOptions, 'language'> & { language: CodeLanguage | CodeLanguageAlias }): Promise<CodeResult>;
  /**
   * Interrupts what a context runs now, as Ctrl-C does; its variables stay. JavaScript heeds it only where it waits: restart it, or give it a
   * time limit. False when there is no such context.
   */
  interruptCode(context: CodeContext): Promise<boolean>;
  /** The contexts that run, of all users. */
  codeContexts(): Promise<CodeContextInfo[]>;
  /** Ends a context with all its variables; the next piece of code begins a new one. */
  restartCode(context: CodeContext): Promise<void>;
}

import type { Json } from '../../contracts/json.ts';
import type { AsStarted, CommandResult, RunOptions } from './commands.ts';

export type CodeLanguage = 'python' | 'javascript' | 'typescript' | 'bash';
/** Short names that are accepted for a language. */
export type CodeLanguageAlias = 'py' | 'js' | 'ts' | 'sh';
export interface CodeContext {
  language: CodeLanguage;
  /** Up to 40 letters, digits, `_`, `.` and `-`. JavaScript and TypeScript share their contexts. */
  contextId: string;
  /** Default `user`. Each user has separate contexts. */
  user?: string;
}
/** A running context. JavaScript and TypeScript share theirs: both are `javascript` here. */
export interface CodeContextInfo extends CodeContext {
  language: 'python' | 'javascript';
  startedAt: string;
}
export interface RunCodeOptions extends Pick<RunOptions, 'execId' | 'cwd' | 'user' | 'env' | 'timeoutMs' | 'signal' | 'onMethodCall' | 'isBegun'>, AsStarted {
  language: CodeLanguage;
  contextId?: string;
  /**
   * What happens when `signal` is aborted. `interrupt`, the default: the code is interrupted, and the call rejects with `INTERRUPTED`. Code that does not
   * stop is killed, and its context with it. `detach`: the code continues, and the call rejects with `DETACHED`.
   */
  onAbort?: 'interrupt' | 'detach';
  /** Called with each part of the code's output as soon as it arrives. */
  onOutput?: (stream: 'stdout' | 'stderr', text: string) => void;
  /** Called with each value as soon as it arrives. */
  onResult?: (value: CodeValue) => void;
}
/** One value in all the forms in which it can be shown, by media type. Texts are strings, images are base 64, JSON is not encoded. */
export type CodeValue = Record<string, Json>;
export interface CodeResult {
  execId: string;
  contextId?: string;
  /**
   * `gone`: the process of the code ended during the run (killed, out of memory), and its context ended with it. `concluded`: it was ended at a call that it
   * made of a tool.
   */
  status: 'finished' | 'failed' | 'interrupted' | 'timeout' | 'gone' | 'concluded';
  /** As that of commands. */
  limit?: CommandResult['limit'];
  /** Number of the tool call that ended the code. Only with `concluded`. */
  concludedBy?: number;
  stdout: string;
  stderr: string;
  /**
   * True when `stdout`, `stderr` or `values` are incomplete. Limits: the first and the last 32 768 characters of a stream; 100 values, 20 MB together.
   * Write larger results to a file.
   */
  truncated: boolean;
  /**
   * What is in none of `stdout`, `stderr` and `values`, and is not stored anywhere. Does not count what is left out within `stdout` or `stderr`: a note
   * in the text marks it. Absent when nothing is missing.
   */
  leftOut?: { values: number; /** Bytes of output and values that the interpreter did not send, or that could not be read. */ bytes: number };
  /** Only for bash, when the stream was cut: path inside the sandbox of the whole stream. */
  stdoutPath?: string;
  stderrPath?: string;
  values: CodeValue[];
  error?: { type: string; message: string; traceback: string };
  /** Number of this piece of code in its context. 1 means that the context is new: no variables of earlier pieces exist. */
  executionCount?: number;
  durationMs: number;
}

/** Runs pieces of code, in contexts that keep their variables. */
export interface SandboxCode {
  /**
   * Runs a piece of code. With `contextId`, the next piece can use its variables (python, javascript, typescript). Without it, the code runs in a separate
   * process. Two calls with the same `execId` are one run. Code that fails gives a result; the call does not reject.
   */
  runCode(code: string, options: Omit<RunCodeOptions, 'language'> & { language: CodeLanguage | CodeLanguageAlias }): Promise<CodeResult>;
  /**
   * Interrupts the code that a context runs now, as Ctrl-C does; its variables stay. JavaScript reacts only while it waits for something; to end a busy
   * loop, restart the context or run the code with `timeoutMs`. Returns false when the context does not exist.
   */
  interruptCode(context: CodeContext): Promise<boolean>;
  /** Lists the running contexts of all users. */
  codeContexts(): Promise<CodeContextInfo[]>;
  /** Ends a context; its variables are lost. The next piece of code starts a new one. */
  restartCode(context: CodeContext): Promise<void>;
}

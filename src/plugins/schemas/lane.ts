import { Worker } from 'node:worker_threads';
import type { Json } from '../../contracts/json.ts';
import type { ToCompile } from './compile-schema.ts';
import { makeShared, patternOf, type ThreadAnswer, type Question, type Shared } from './thread-messages.ts';

/** Work for a thread. */
export interface Task {
  key: number;
  toCompile: ToCompile;
  value?: Json;
}

/** How a task ended. `tookMs` is the time that the thread needed for it. */
export type TaskEnding = { problems: string[]; tookMs: number } | { unusable: string; tookMs: number } | { overrun: string; pattern?: string };

export interface LaneLimits {
  checkMs: number;
  compileMs: number;
  memoryMb: number;
  idleMs: number;
}

const MOST_SCHEMAS = 200;

interface Thread {
  worker: Worker;
  shared: Shared;
  /** Keys of the schemas that it has compiled. */
  known: Set<number>;
  ready: Promise<unknown>;
}

/** One thread for one task at a time. The thread is terminated when a task takes too long. */
export class Lane {
  private readonly program: () => Promise<string>;
  private readonly limits: LaneLimits;
  private thread: Thread | undefined;
  private idle: NodeJS.Timeout | undefined;

  constructor(program: () => Promise<string>, limits: LaneLimits) {
    this.program = program;
    this.limits = limits;
  }

  async run(task: Task): Promise<TaskEnding> {
    clearTimeout(this.idle);
    const thread = (this.thread ??= await this.start());
    const { worker, ready } = thread;
    worker.ref();
    try {
      await ready;
      const ending = await this.work(task, thread);
      if ('overrun' in ending) this.end();
      return ending;
    } catch (error) {
      this.end();
      throw error;
    } finally {
      worker.unref();
      this.idle = setTimeout(() => this.end(), this.limits.idleMs).unref();
    }
  }

  end(): void {
    clearTimeout(this.idle);
    void this.thread?.worker.terminate();
    this.thread = undefined;
  }

  private async start(): Promise<Thread> {
    const shared = makeShared();
    const resourceLimits = { maxOldGenerationSizeMb: this.limits.memoryMb, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 };
    const worker = new Worker(await this.program(), { eval: true, env: {}, execArgv: [], workerData: shared, resourceLimits, name: 'longshore-validator' });
    // An error ends the thread. A caller that waits for an answer has its own listeners.
    worker.on('error', () => undefined);
    return { worker, shared, known: new Set(), ready: new Promise((resolve) => worker.once('online', resolve).once('exit', resolve)) };
  }

  private async work({ key, toCompile, value }: Task, thread: Thread): Promise<TaskEnding> {
    const { known } = thread;
    let compiled: TaskEnding = { problems: [], tookMs: 0 };
    if (!known.has(key)) {
      const forget = known.size >= MOST_SCHEMAS;
      if (forget) known.clear();
      compiled = await this.ask(thread, { key, toCompile, ...(forget && { forget }) }, this.limits.compileMs);
      if (!('problems' in compiled)) return 'overrun' in compiled ? { ...compiled, overrun: `${compiled.overrun} to be compiled` } : compiled;
      known.add(key);
    }
    if (value === undefined) return compiled;
    const checked = await this.ask(thread, { key, value }, this.limits.checkMs);
    return 'tookMs' in checked ? { ...checked, tookMs: checked.tookMs + compiled.tookMs } : { ...checked, overrun: `${checked.overrun} for this value` };
  }

  private ask({ worker, shared }: Thread, question: Question, limitMs: number): Promise<TaskEnding> {
    const { memoryMb } = this.limits;
    return new Promise((resolve) => {
      const settle = (ending: TaskEnding): void => {
        clearTimeout(timer);
        worker.off('message', onMessage).off('error', onError).off('exit', onExit);
        resolve(ending);
      };
      const onMessage = (answer: ThreadAnswer): void => settle(answer);
      const onError = (error: Error): void => settle({ overrun: wordsOf(error, memoryMb) });
      const onExit = (): void => settle({ overrun: 'ended the thread that works on it' });
      const giveUp = (): void => {
        const pattern = patternOf(shared);
        settle({ overrun: `needs more than ${limitMs} ms`, ...(pattern !== undefined && { pattern }) });
      };
      // If this event loop was busy, the answer may have arrived already and is read first.
      const timer = setTimeout(() => setImmediate(giveUp), limitMs);
      worker.on('message', onMessage).on('error', onError).on('exit', onExit);
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has none
      worker.postMessage(question);
    });
  }
}

function wordsOf(error: Error, memoryMb: number): string {
  return (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY' ? `needs more than ${memoryMb} MB of memory` : `failed (${error.message})`;
}

import type { LoadedProcess } from './loaded-process.ts';
import type { PluginProcess } from './plugin-process.ts';
import type { Description } from './protocol.ts';
import { createUse } from './use.ts';

export interface AtWork {
  loaded: LoadedProcess;
  description: Description;
}

export interface Keeping {
  start: () => Promise<AtWork>;
  /** Milliseconds without use after which the process is ended; 0 is never. */
  idleMs: number;
  /** Milliseconds. */
  now: () => number;
  /** Told when a process ended by itself or was ended for what it did; whether another is to be started at once. */
  onLost: (why: string) => boolean;
  onNotReplaced: (error: unknown) => void;
  /** Told that it has fallen asleep, or was woken. */
  onRest: (asleep: boolean) => void;
  /** What a process may do before its sleep. No call is given to it any more. */
  beforeSleep: (atWork: AtWork) => Promise<void>;
}

/** The one process of a plugin, replaced when it ends, and gone while nobody uses it. */
export class KeptProcess {
  private readonly keeping: Keeping;
  private readonly inUse;
  private readonly leaving = new Set<PluginProcess>();
  private current: Promise<AtWork> | undefined;
  private asleep = false;
  private open = true;
  private working = false;

  constructor(keeping: Keeping) {
    this.keeping = keeping;
    this.inUse = createUse(keeping.idleMs, keeping.now, () => this.fallAsleep());
  }

  /** Gives the process at work; starts one where there is none. It does not fall asleep before `work` has ended. */
  async use<Result>(work: (atWork: AtWork) => Promise<Result>): Promise<Result> {
    this.inUse.begin();
    try {
      return await work(await this.acquire());
    } finally {
      this.inUse.end();
    }
  }

  isAsleep(): boolean {
    return this.asleep;
  }

  /** Undefined when there is no process although it does not sleep. */
  state(): 'asleep' | 'starting' | 'running' | undefined {
    if (this.asleep) return 'asleep';
    if (!this.current) return undefined;
    return this.working ? 'running' : 'starting';
  }

  /** Resolves when the processes that went to sleep have ended. */
  async gone(): Promise<void> {
    await Promise.all([...this.leaving].map(({ gone }) => gone));
  }

  async close(): Promise<void> {
    this.open = false;
    this.inUse.stop();
    const last = await this.current?.catch(() => undefined);
    const all = [...this.leaving, ...(last ? [last.loaded.process] : [])];
    for (const process of all) process.kill('the plugin was closed');
    await Promise.all(all.map(({ gone }) => gone));
  }

  private acquire(): Promise<AtWork> {
    if (this.current) return this.current;
    const starting = this.keeping.start();
    this.current = starting;
    this.working = false;
    if (this.asleep) this.rest(false);
    // A start is a use: what is not at work yet does not fall asleep.
    this.inUse.begin();
    void this.follow(starting).finally(() => this.inUse.end());
    return starting;
  }

  private async follow(starting: Promise<AtWork>): Promise<void> {
    try {
      const { loaded } = await starting;
      if (this.current === starting) this.working = true;
      // One that fell asleep meanwhile may have a successor, which is not to be forgotten for it.
      void loaded.process.ended.then((why) => this.current === starting && this.lose(why));
    } catch {
      if (this.current === starting) this.current = undefined;
    }
  }

  private lose(why: string): void {
    this.current = undefined;
    // The next call finds it at work again, or is told why not.
    if (this.open && this.keeping.onLost(why)) this.acquire().catch(this.keeping.onNotReplaced);
  }

  /** From here on a call starts another process, so none is given to the one that goes. */
  private fallAsleep(): void {
    const last = this.current;
    if (!last) return;
    this.current = undefined;
    this.rest(true);
    void last.then((atWork) => this.letGo(atWork));
  }

  private async letGo(atWork: AtWork): Promise<void> {
    const { process } = atWork.loaded;
    this.leaving.add(process);
    void process.gone.then(() => this.leaving.delete(process));
    await this.keeping.beforeSleep(atWork);
    process.kill('it was not used');
  }

  private rest(asleep: boolean): void {
    this.asleep = asleep;
    this.keeping.onRest(asleep);
  }
}

import { failure } from '../../contracts/errors.ts';
import type { LoadedProcess } from './loaded-process.ts';
import type { ProcessPlace, Places, Waiting } from './places.ts';
import type { PluginProcess } from './plugin-process.ts';
import type { Description } from './guest-protocol.ts';
import { createUse } from './use.ts';

export interface AtWork {
  loaded: LoadedProcess;
  description: Description;
}

export interface Keeping {
  start: () => Promise<AtWork>;
  places: Places;
  /** Milliseconds without use after which the process is ended; 0: never. */
  idleMs: number;
  /** Milliseconds. */
  now: () => number;
  /** Called when a process ended by itself or was ended for what it did; returns whether another is to be started at once. */
  onLost: (why: string) => boolean;
  onNotReplaced: (error: unknown) => void;
  /** Called when the process was ended for idleness, or started again; `forRoom`: it was ended to make room for another. */
  onRest: (asleep: boolean, forRoom: boolean) => void;
  /** What a process may do before it is ended for sleep. It receives no more calls. */
  beforeSleep: (atWork: AtWork, forRoom: boolean) => Promise<void>;
}

export interface Wanting extends Waiting {
  /** Throws where no process may be started; called again after a wait. */
  check?: () => void;
}

const CLOSED = 'the plugin was closed';

/** One process: replaced when it ends, and not running while it is idle or another needs its place. */
export class KeptProcess {
  private readonly keeping: Keeping;
  private readonly inUse;
  private readonly leaving = new Set<PluginProcess>();
  /** Set whenever there is a process that is not leaving. */
  private place: ProcessPlace | undefined;
  private current: Promise<AtWork> | undefined;
  /** True also until the first use. */
  private asleep = true;
  private open = true;
  private working = false;

  constructor(keeping: Keeping) {
    this.keeping = keeping;
    this.inUse = createUse(keeping.idleMs, keeping.now, () => this.fallAsleep(false));
  }

  /**
   * Passes the process to `work`, with the milliseconds that it waited for a place. Starts a process where there is none. The process does not fall asleep
   * before `work` has ended.
   */
  async use<Result>(work: (atWork: AtWork, waitedMs: number) => Promise<Result>, wanting: Wanting): Promise<Result> {
    this.inUse.begin();
    try {
      const waitedMs = this.place ? 0 : await this.enter(wanting);
      this.checkOpen(wanting.name);
      return await work(await this.acquire(), waitedMs);
    } finally {
      this.end();
    }
  }

  /** Passes the process to `work` where there is one; does not start one. */
  async useCurrent<Result>(work: (atWork: AtWork) => Promise<Result>): Promise<Result | undefined> {
    if (!this.current) return undefined;
    this.inUse.begin();
    try {
      return await work(await this.current);
    } finally {
      this.end();
    }
  }

  isAsleep(): boolean {
    return this.asleep;
  }

  /** Undefined when there is no process although it does not sleep. */
  state(): 'asleep' | 'starting' | 'running' | undefined {
    if (this.asleep) return 'asleep';
    if (this.current) return this.working ? 'running' : 'starting';
    return this.inUse.isIdle() ? undefined : 'starting';
  }

  /** There is no process, none is leaving, and no call waits for one. */
  isEmpty(): boolean {
    return !this.current && this.leaving.size === 0 && this.inUse.isIdle();
  }

  isIdle(): boolean {
    return this.inUse.isIdle() && this.current !== undefined;
  }

  usedAt(): number {
    return this.inUse.endedAt();
  }

  admit(place: ProcessPlace): void {
    this.place = place;
  }

  evict(): void {
    this.fallAsleep(true);
  }

  /** Resolves when the processes that fell asleep have ended. */
  async gone(): Promise<void> {
    await Promise.all([...this.leaving].map(({ gone }) => gone));
  }

  async close(): Promise<void> {
    this.open = false;
    this.inUse.stop();
    this.keeping.places.dismiss(this, CLOSED);
    if (!this.current) this.forget();
    const last = await this.current?.catch(() => undefined);
    const all = [...this.leaving, ...(last ? [last.loaded.process] : [])];
    for (const process of all) process.kill(CLOSED);
    await Promise.all(all.map(({ gone }) => gone));
  }

  /** Waits until it may have a process; returns the milliseconds that it waited. */
  private async enter(wanting: Wanting): Promise<number> {
    const { places, now } = this.keeping;
    const since = now();
    while (!this.place) {
      this.checkOpen(wanting.name);
      // oxlint-disable-next-line no-await-in-loop -- another call of it may have lost the place meanwhile
      await places.wait(this, { ...wanting, timeoutMs: Math.max(1, wanting.timeoutMs - (now() - since)) });
    }
    wanting.check?.();
    return now() - since;
  }

  private checkOpen(name: string): void {
    if (!this.open) throw failure('PLUGIN_ENDED', { tool: name, why: CLOSED });
  }

  private acquire(): Promise<AtWork> {
    if (this.current) return this.current;
    const starting = this.keeping.start();
    this.current = starting;
    this.working = false;
    if (this.asleep) this.rest(false);
    // A start counts as a use: a process that is still starting does not fall asleep.
    this.inUse.begin();
    void this.follow(starting).finally(() => this.end());
    return starting;
  }

  private async follow(starting: Promise<AtWork>): Promise<void> {
    try {
      const { loaded } = await starting;
      if (this.current === starting) this.working = true;
      // A process that has fallen asleep may have a successor, which must not be removed in its place.
      void loaded.process.ended.then((why) => this.current === starting && this.lose(why));
    } catch {
      if (this.current === starting) this.forget();
    }
  }

  private lose(why: string): void {
    this.current = undefined;
    // The next call finds a process, or receives the reason why there is none.
    if (this.open && this.keeping.onLost(why)) this.acquire().catch(this.keeping.onNotReplaced);
    else this.forget();
  }

  private forget(): void {
    this.current = undefined;
    const { place } = this;
    this.place = undefined;
    place?.release();
  }

  private end(): void {
    this.inUse.end();
    if (!this.inUse.isIdle()) return;
    // A call that gave up after its wait leaves a place without a process.
    if (this.current) this.keeping.places.look();
    else this.forget();
  }

  /** After this a call starts another process, so the leaving process receives none. */
  private fallAsleep(forRoom: boolean): void {
    const { current: last, place } = this;
    if (!last || !place) return;
    this.current = undefined;
    this.place = undefined;
    place.leaving = true;
    this.rest(true, forRoom);
    void last.then((atWork) => this.letGo(atWork, place, forRoom));
  }

  private async letGo(atWork: AtWork, place: ProcessPlace, forRoom: boolean): Promise<void> {
    const { process } = atWork.loaded;
    this.leaving.add(process);
    void process.gone.then(() => this.leaving.delete(process));
    void process.ended.then(() => place.release());
    await this.keeping.beforeSleep(atWork, forRoom);
    process.kill('it was not used');
  }

  private rest(asleep: boolean, forRoom = false): void {
    this.asleep = asleep;
    this.keeping.onRest(asleep, forRoom);
  }
}

import { failure, isFailure } from '../../../contracts/errors.ts';
import type { MayWake } from '../../api/sandbox.ts';
import type { SandboxOperation, Work } from '../base/work.ts';
import { bringUpSandbox, rests, type Judge } from './bring-up-sandbox.ts';
import type { DockerContext } from '../base/docker-context.ts';
import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import type { StreamTarget } from '../base/open-stream.ts';

/** When an operation gets no answer within this time, the sandbox may be frozen. Milliseconds. */
const ANSWER_MS = 10;
/** Delay between checks of a sandbox with work in progress, and the longest delay while it does not answer. Milliseconds. */
const CHECK_MS = { first: 500, longest: 4000 };
/** Time for the answer to a check. Milliseconds. */
const PING_MS = 250;
/** Reads of a row until it is known whether a pause or the operation came first; after them, the operation counts as the later one. */
const MOST_READS = 4;
/** When the engine or the database is unavailable for longer, the work fails with their error. Milliseconds. */
const PATIENCE_MS = 60_000;

type Context = Pick<DockerContext, 'connections' | 'rows' | 'inTurn' | 'log'> & DockerContext;

/** @param contextOf returns the context that contains the result */
export function createWork(contextOf: () => DockerContext): Work {
  const sandboxes = new Map<string, AtWork>();
  const enter = (target: StreamTarget): AtWork => {
    const known = sandboxes.get(target.sandboxId);
    if (known !== undefined) return known;
    const made = new AtWork(contextOf(), target);
    sandboxes.set(target.sandboxId, made);
    return made;
  };
  const run = async <T>(target: StreamTarget, kind: 'work' | 'observer', act: (atWork: AtWork) => Promise<T>): Promise<T> => {
    const atWork = enter(target);
    atWork.begin(kind);
    try {
      return await act(atWork);
    } finally {
      atWork.end(kind);
      if (atWork.isIdle && sandboxes.get(target.sandboxId) === atWork) sandboxes.delete(target.sandboxId);
    }
  };
  return {
    perform: (target, operation, mayWake) => run(target, 'work', (atWork) => atWork.reach(operation, mayWake)),
    observe: (target, operation, mayWake) => run(target, 'observer', (atWork) => atWork.reach(operation, mayWake)),
    attend: (target, operation) => run(target, 'work', (atWork) => atWork.attend(operation)),
    isUnderWay: (sandboxId) => sandboxes.get(sandboxId)?.isWorking === true,
  };
}

/** One sandbox with operations in progress. */
class AtWork {
  readonly #context: Context;
  readonly #target: StreamTarget;
  readonly #count = { work: 0, observer: 0 };
  #queuedWake: Promise<void> | undefined;
  /** When the newest operation for the queued wake began. Milliseconds. */
  #wantedSince = 0;
  #runningWake: Promise<void> = Promise.resolve();
  #checking: NodeJS.Timeout | undefined;
  /** Increases when the last work ends, so that its checks stop. */
  #round = 0;
  #failingSince: number | undefined;

  constructor(context: Context, target: StreamTarget) {
    this.#context = context;
    this.#target = target;
  }

  get isWorking(): boolean {
    return this.#count.work > 0;
  }

  get isIdle(): boolean {
    return this.#count.work + this.#count.observer === 0;
  }

  begin(kind: 'work' | 'observer'): void {
    this.#count[kind] += 1;
    if (kind === 'work' && this.#count.work === 1) this.#checkLater(CHECK_MS.first);
  }

  end(kind: 'work' | 'observer'): void {
    this.#count[kind] -= 1;
    if (this.isWorking) return;
    clearTimeout(this.#checking);
    this.#round += 1;
    this.#failingSince = undefined;
  }

  async reach<T>(operation: SandboxOperation<T>, mayWake?: MayWake): Promise<T> {
    const { connections, log } = this.#context;
    const { sandboxId } = this.#target;
    const begun = performance.now();
    const wake = async () => {
      await mayWake?.();
      await this.#wake(begun);
    };
    if (!(await connections.isCertain(sandboxId))) {
      await wake();
      return connections.use(this.#target, operation);
    }
    // On an open stream the operation is sent at once. The row is read only when no answer arrives soon: a frozen sandbox answers after it is thawed.
    const look = () => void wake().catch((error: unknown) => log.debug({ sandboxId, err: error }, 'a sandbox in use could not be woken'));
    const unanswered = setTimeout(look, ANSWER_MS);
    try {
      return await connections.use(this.#target, operation);
    } finally {
      clearTimeout(unanswered);
    }
  }

  /** While the sandbox is paused, the operation waits. */
  async attend<T>(operation: SandboxOperation<T>): Promise<T> {
    const { connections } = this.#context;
    const { sandboxId } = this.#target;
    await connections.isCertain(sandboxId);
    await keepAwake(this.#context, sandboxId, () => !this.isIdle);
    return connections.use(this.#target, operation);
  }

  /** Operations share a wake that has not begun. A wake that began before an operation may have read an older state. */
  #wake(begun: number): Promise<void> {
    this.#wantedSince = Math.max(this.#wantedSince, begun);
    this.#queuedWake ??= this.#runningWake
      .catch(() => undefined)
      .then(() => {
        this.#queuedWake = undefined;
        this.#runningWake = wake(this.#context, this.#target.sandboxId, { isWanted: () => !this.isIdle, since: this.#wantedSince });
        return this.#runningWake;
      });
    return this.#queuedWake;
  }

  #checkLater(delay: number): void {
    const round = this.#round;
    this.#checking = setTimeout(() => {
      void this.#checkNow(delay, round);
    }, delay);
  }

  async #checkNow(delay: number, round: number): Promise<void> {
    const next = await this.#check(delay);
    if (this.isWorking && this.#round === round) this.#checkLater(next);
  }

  /** Returns the delay until the next check. Never rejects: the operations fail with a permanent error. */
  async #check(delay: number): Promise<number> {
    const { connections, log } = this.#context;
    const { sandboxId } = this.#target;
    if (await this.#isAnswering()) {
      this.#failingSince = undefined;
      // Its container may have been given up while this host was away.
      await connections.isCertain(sandboxId).catch((error: unknown) => log.debug({ sandboxId, err: error }, 'the row of a sandbox in use could not be read'));
      return CHECK_MS.first;
    }
    try {
      await keepAwake(this.#context, sandboxId, () => this.isWorking);
      this.#failingSince = undefined;
    } catch (error) {
      this.#failingSince ??= performance.now();
      log.debug({ sandboxId, err: error }, 'a sandbox with work in progress could not be kept awake');
      const isOver = !isFailure(error) || !error.retryable || performance.now() - this.#failingSince > PATIENCE_MS;
      if (isOver && this.isWorking) connections.close(sandboxId, error instanceof Error ? error : undefined);
    }
    return Math.min(delay * 2, CHECK_MS.longest);
  }

  async #isAnswering(): Promise<boolean> {
    const { connections } = this.#context;
    const { sandboxId } = this.#target;
    if (!connections.isOpen(sandboxId)) return false;
    const patience = new AbortController();
    const timer = setTimeout(() => patience.abort(), PING_MS);
    try {
      return await connections.use(this.#target, (connection) => connection.isAnswering(CHECK_MS.first, patience.signal));
    } catch {
      return false;
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Wakes a resting sandbox for new work. When the row says `running`, the connection itself thaws the container or reports that it is lost. */
async function wake(context: DockerContext, sandboxId: string, { isWanted, since }: { isWanted: () => boolean; since: number }): Promise<void> {
  for (let reads = 1; ; reads += 1) {
    const asked = performance.now();
    const row = await context.rows.get(sandboxId);
    // An operation that is finished must not wake a sandbox that was put to rest after it.
    if (row?.state === 'running' || !isWanted()) return;
    const may = mayWake(row, { since, asked, answered: performance.now() });
    if (may === 'no') return;
    if (may === 'yes' || reads === MOST_READS) return wakeInTurn(context, sandboxId, isWanted, 'wake', judgeSince(since));
  }
}

/**
 * Whether an operation wakes a sandbox that rests: not when a pause came after the operation had begun. An answer that took long (all connections to Postgres were in
 * use) leaves that open when both are that near to each other. A negative time since the pause says that the clock of Postgres was set back: then the operation counts
 * as the later one.
 */
function mayWake(row: SandboxRow | undefined, { since, asked, answered }: Record<'since' | 'asked' | 'answered', number>): 'yes' | 'no' | 'unknown' {
  const pausedMs = row?.pausedMs;
  if (pausedMs === undefined || pausedMs < 0 || answered - pausedMs <= since) return 'yes';
  return asked - pausedMs > since ? 'no' : 'unknown';
}

/** It may have been paused while the wake waited for others, or before it could change the row. */
function judgeSince(since: number): Judge {
  let unknown = 0;
  return async (row, asked) => {
    const may = mayWake(row, { since, asked, answered: performance.now() });
    if (may === 'no') return 'stay';
    if (may === 'yes') return 'wake';
    return (unknown += 1) < MOST_READS ? 'again' : 'wake';
  };
}

/** For work in progress: thaws a sandbox that was frozen without a pause, and fails when it has ended. In any other rest, the work waits. */
async function keepAwake(context: DockerContext, sandboxId: string, isWanted: () => boolean): Promise<void> {
  const row = await context.rows.get(sandboxId);
  switch (row?.state) {
    case undefined:
      throw failure('SANDBOX_NOT_FOUND', { sandboxId });
    case 'destroyed':
      throw failure('SANDBOX_DESTROYED', { sandboxId });
    case 'frozen':
    case 'running':
    case 'lost':
      // Its container may be frozen although the row says otherwise, because a process died during a change.
      return rests(row) ? undefined : wakeInTurn(context, sandboxId, isWanted, 'attend');
    default:
      return undefined;
  }
}

/** Waits for other operations of this process on the sandbox, such as a copy. After that wait the wake may not be wanted any more. */
async function wakeInTurn(context: DockerContext, sandboxId: string, isWanted: () => boolean, purpose: 'wake' | 'attend', judge?: Judge): Promise<void> {
  const how = { isWanted, ...(judge && { judge }) };
  const woken = await context.inTurn(sandboxId, async () => (isWanted() ? bringUpSandbox(context, sandboxId, purpose, how) : undefined));
  if (woken?.tier === 'lost' || woken?.tier === 'none') throw failure('SANDBOX_LOST', { sandboxId, problem: 'its container has ended' });
}

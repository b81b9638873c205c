import type { Duplex } from 'node:stream';
import { anySignal } from '../../../common/any-signal.ts';
import { RecentMap } from '../../../common/recent-map.ts';
import { failure } from '../../../contracts/errors.ts';
import type { Logger } from '../../../platform/log.ts';
import type { SandboxTerms } from '../../protocol/greeting.ts';
import { connectSupervisor } from '../../protocol/connect-supervisor.ts';
import type { ExecRecord, SupervisorConnection } from '../../protocol/supervisor-connection.ts';
import type { LostExec } from './describe-loss.ts';
import type { HostLease } from './host-lease.ts';
import { keepTerms, type KeptTerms, type TermsOf } from './keep-terms.ts';
import { openStream, type OpenedStream, type OpenStreamDeps, type StreamTarget } from './open-stream.ts';

/** An idle connection is closed after this time, together with its bridge process in the container. Milliseconds. */
const IDLE_MS = 60_000;

/** Sandboxes of which it is remembered which container was reached. */
const REMEMBERED = 10_000;

type ConnectionDeps = OpenStreamDeps & { log: Logger; termsOf: TermsOf; lease: Pick<HostLease, 'term'> };
/** `onReached` is told the number of the container at each new stream. */
type EntryDeps = ConnectionDeps & { onReached: (fence: number) => void };

type OpenFirst = () => Promise<OpenedStream>;

interface Entry {
  connection: SupervisorConnection;
  stream: Duplex | undefined;
  /** Number of the container at the other end of the newest stream. */
  fence: number | undefined;
  /** Term of the host in which the row was last seen to name that container. */
  term: number | undefined;
  /** A stream that is open already; it is used first. */
  given?: OpenedStream;
  /** Number of operations that wait for an answer and of the guest's open connections to other hosts. */
  users: number;
  /** Opens the streams to a supervisor that was just woken, until its first answer or a failure. */
  openFirst: OpenFirst | undefined;
  kept: Promise<KeptTerms>;
  /** Reads the terms again and applies them until the signal is aborted. */
  keep: (signal: AbortSignal) => Promise<KeptTerms>;
  /** Ends the current terms. */
  keeping: AbortController;
  closing: AbortController;
  idleTimer: NodeJS.Timeout | undefined;
}

/** This process's connections to supervisors: one per sandbox, opened on first use. */
export interface Connections {
  /** Runs an operation over the sandbox's connection. */
  use<T>(target: StreamTarget, operation: (connection: SupervisorConnection) => Promise<T>): Promise<T>;
  /**
   * Waits for the first answer of a supervisor that was just woken. The stream is opened whatever the state of the sandbox's row is, and the connection keeps
   * it. Undefined when a connection is in use already: that one waits for the row.
   */
  greet(target: StreamTarget, open: OpenFirst): Promise<void> | undefined;
  /** Uses the first stream of a container that is about to be started, and sends its supervisor a ping. */
  begin(target: StreamTarget, first: OpenedStream): void;
  /** True when the connection has a live stream, so the container has not ended. */
  isOpen(sandboxId: string): boolean;
  /** The same, and the container has not been superseded: where this host may have been given up since that was last seen, the row is read again. */
  isCertain(sandboxId: string): Promise<boolean>;
  /** Number of the container of a sandbox that this process has last reached. */
  fence(sandboxId: string): number | undefined;
  /** Commands that were running when the sandbox's processes last ended. */
  lostExecs(target: StreamTarget): Promise<LostExec[]>;
  /** Operations in progress fail with `why`; without it they are detached, and their commands continue. */
  close(sandboxId: string, why?: Error): void;
  /** Closes a sandbox's stream: operations in flight continue when the sandbox can be reached again. */
  disconnect(sandboxId: string): void;
  /** Reads the terms of a sandbox again; the guest's open connections to other hosts are closed. */
  renew(sandboxId: string): Promise<void>;
  /** The same, but only when another process has changed the egress rules. A stream to a container that may not act for the sandbox any more is closed. */
  refresh(sandboxId: string): Promise<void>;
  /** Closes a connection that is not in use. Operations in flight on a frozen sandbox wait until it is thawed. */
  closeUnlessUsed(sandboxId: string): void;
  /** Closes all connections and refuses new ones. Resolves when all are closed and their egress decisions are reported. */
  closeAll(): Promise<void>;
}

export function createConnections(deps: ConnectionDeps): Connections {
  const reached = new RecentMap<string, number>(REMEMBERED);
  const { entries, close, disconnect, closeUnlessUsed, closeAll, isClosed } = createEntries();
  const find = (target: StreamTarget, openFirst?: OpenFirst): Entry => {
    const known = entries.get(target.sandboxId);
    if (known) return known;
    // An operation that began before `closeAll` would leave an open stream.
    if (isClosed()) throw failure('SANDBOX_UNREACHABLE', { sandboxId: target.sandboxId, problem: 'this process has closed its connections to sandboxes' });
    const entry = connect({ ...deps, onReached: (fence) => reached.set(target.sandboxId, fence) }, target, openFirst, (change) =>
      hold(entry, target.sandboxId, change),
    );
    entries.set(target.sandboxId, entry);
    // A connection must not be used without its terms; the next operation opens another one.
    entry.kept.catch(() => entries.get(target.sandboxId) === entry && close(target.sandboxId));
    return entry;
  };
  /** Counts the users of the connection; without users it is closed after `IDLE_MS`. */
  const hold = (entry: Entry, sandboxId: string, change: 1 | -1) => {
    clearTimeout(entry.idleTimer);
    entry.users += change;
    if (entry.users > 0 || entry.closing.signal.aborted) return;
    entry.idleTimer = setTimeout(() => entries.get(sandboxId) === entry && close(sandboxId), IDLE_MS).unref();
  };
  const use = async <T>(target: StreamTarget, operation: (connection: SupervisorConnection) => Promise<T>, openFirst?: OpenFirst): Promise<T> => {
    const entry = find(target, openFirst);
    hold(entry, target.sandboxId, 1);
    try {
      // Before the operation, which may start a command of the guest.
      (await entry.kept).ensureEgress();
      return await operation(entry.connection);
    } finally {
      entry.openFirst = undefined;
      hold(entry, target.sandboxId, -1);
    }
  };

  return {
    use: (target, operation) => use(target, operation),
    begin(target, first) {
      if (isClosed() || entries.has(target.sandboxId)) return void first.stream.destroy();
      find(target).given = first;
      return void use(target, (connection) => connection.ping()).catch((error: unknown) => tellSilence(deps, target, error));
    },
    close,
    greet(target, open) {
      closeUnlessUsed(target.sandboxId);
      return entries.has(target.sandboxId) ? undefined : use(target, (connection) => connection.ping(), open);
    },
    disconnect,
    renew: (sandboxId) => keepAnew(entries.get(sandboxId)),
    ...createLooks(deps, entries, disconnect),
    closeUnlessUsed,
    isOpen: (sandboxId) => isLive(entries.get(sandboxId)?.stream),
    fence: (sandboxId) => reached.get(sandboxId),
    lostExecs: async (target) => lostLately(await use(target, (connection) => connection.list())),
    closeAll,
  };
}

function createEntries() {
  let closed = false;
  const entries = new Map<string, Entry>();
  const farewells = new Set<Promise<void>>();

  const close = (sandboxId: string, why?: Error) => {
    const entry = entries.get(sandboxId);
    if (entry === undefined) return;
    entries.delete(sandboxId);
    const farewell = leave(entry, why).finally(() => farewells.delete(farewell));
    farewells.add(farewell);
  };
  const closeAll = async () => {
    closed = true;
    for (const sandboxId of entries.keys()) close(sandboxId);
    await Promise.all(farewells);
  };
  const disconnect = (sandboxId: string) => {
    const entry = entries.get(sandboxId);
    if (entry?.users === 0) return close(sandboxId);
    entry?.connection.disconnect();
    entry?.stream?.destroy();
  };
  const closeUnlessUsed = (sandboxId: string) => {
    if (entries.get(sandboxId)?.users === 0) close(sandboxId);
  };
  return { entries, close, disconnect, closeUnlessUsed, closeAll, isClosed: () => closed };
}

/** What reads the row of a sandbox again, and leaves its container when the row names another. */
function createLooks(deps: ConnectionDeps, entries: Map<string, Entry>, disconnect: (sandboxId: string) => void): Pick<Connections, 'refresh' | 'isCertain'> {
  return {
    async refresh(sandboxId) {
      const entry = entries.get(sandboxId);
      if (entry !== undefined && (await isLeft(deps, sandboxId, entry))) disconnect(sandboxId);
      else await renewIfChanged(entry);
    },
    async isCertain(sandboxId) {
      const entry = entries.get(sandboxId);
      if (entry === undefined || !isLive(entry.stream)) return false;
      const term = deps.lease.term();
      if (term === undefined || term !== entry.term) {
        if (await isLeft(deps, sandboxId, entry)) disconnect(sandboxId);
        else entry.term = term;
      }
      return isLive(entry.stream);
    },
  };
}

async function keepAnew(entry: Entry | undefined): Promise<void> {
  if (entry === undefined) return;
  const before = entry.kept;
  entry.keeping.abort();
  entry.keeping = new AbortController();
  entry.kept = before
    .catch(() => undefined)
    .then(async (kept) => {
      await kept?.close();
      return entry.keep(anySignal([entry.keeping.signal, entry.closing.signal]));
    });
  (await entry.kept).ensureEgress();
}

/** When another process has changed the egress rules, they apply to the guest's next connection, and its open connections are closed. */
async function renewIfChanged(entry: Entry | undefined): Promise<void> {
  if (entry === undefined) return;
  const kept = await entry.kept;
  if (await kept.isCurrent()) return;
  // Only once, when several connections of the guest find the change at the same time.
  if ((await entry.kept) === kept) await keepAnew(entry);
}

/** Whether the row names another container than the one at the other end of the stream. */
async function isLeft({ rows, hostId }: ConnectionDeps, sandboxId: string, { fence }: Entry): Promise<boolean> {
  const row = fence === undefined ? undefined : await rows.get(sandboxId);
  return row !== undefined && (row.fence !== fence || row.hostId !== hostId);
}

async function admit(deps: ConnectionDeps, sandboxId: string, entry: Entry, tunnel: Duplex): Promise<void> {
  try {
    if (await isLeft(deps, sandboxId, entry)) throw failure('SANDBOX_SUPERSEDED', { sandboxId, problem: 'a newer one has taken its place' });
    await renewIfChanged(entry);
    (await entry.kept).accept(tunnel);
  } catch (error) {
    tunnel.destroy(error instanceof Error ? error : undefined);
  }
}

/** Logs a failed ping of a new supervisor. The sandbox may be destroyed already; the next operation on it reports the error. */
function tellSilence({ log }: ConnectionDeps, { sandboxId }: StreamTarget, error: unknown): void {
  log.debug({ sandboxId, err: error }, 'a new supervisor did not answer over its first stream');
}

function lostLately(execs: ExecRecord[]): LostExec[] {
  return execs.filter(({ state, past }) => state === 'lost' && past !== true);
}

function isLive(stream: Duplex | undefined): boolean {
  return stream !== undefined && !stream.destroyed && !stream.readableEnded;
}

function connect(deps: EntryDeps, target: StreamTarget, openFirst: OpenFirst | undefined, hold: (change: 1 | -1) => void): Entry {
  const closing = new AbortController();
  let terms: SandboxTerms = {};
  const connection = connectSupervisor({
    sandboxId: target.sandboxId,
    log: deps.log,
    terms: () => ({ ...terms, ...(entry.fence !== undefined && entry.fence > 0 && { fence: entry.fence }) }),
    openStream: async () => {
      const term = deps.lease.term();
      const { stream, fence } = entry.given ?? (await (entry.openFirst?.() ?? openStream(deps, target, closing.signal)));
      delete entry.given;
      Object.assign(entry, { stream, fence, term });
      deps.onReached(fence);
      stream.once('error', (error) => deps.log.debug({ sandboxId: target.sandboxId, err: error }, 'the stream to a supervisor broke'));
      return stream;
    },
  });
  const keep = async (signal: AbortSignal): Promise<KeptTerms> => {
    const found = await keepTerms(deps, target.sandboxId, {
      connection,
      signal,
      hold,
      onTunnel: (tunnel) => void admit(deps, target.sandboxId, entry, tunnel),
    });
    terms = found.terms;
    return found;
  };
  const keeping = new AbortController();
  const kept = keep(anySignal([keeping.signal, closing.signal]));
  const entry: Entry = {
    connection,
    stream: undefined,
    fence: undefined,
    term: undefined,
    users: 0,
    openFirst,
    kept,
    keep,
    keeping,
    closing,
    idleTimer: undefined,
  };
  return entry;
}

/** Closes the connection at once. The promise resolves when the remaining egress decisions are reported. */
async function leave(entry: Entry, why: Error | undefined): Promise<void> {
  clearTimeout(entry.idleTimer);
  entry.closing.abort();
  entry.connection.close(why);
  entry.given?.stream.destroy();
  entry.stream?.destroy();
  const kept = await entry.kept.catch(() => undefined);
  await kept?.close();
}

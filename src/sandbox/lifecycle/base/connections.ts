import type { Duplex } from 'node:stream';
import { failure } from '../../../contracts/errors.ts';
import type { Logger } from '../../../platform/log.ts';
import type { SandboxTerms } from '../../protocol/caller.ts';
import { connectSupervisor } from '../../protocol/connect-supervisor.ts';
import type { ExecRecord, SupervisorConnection } from '../../protocol/supervisor-connection.ts';
import type { LostExec } from './describe-loss.ts';
import { keepTerms, type KeptTerms, type TermsOf } from './keep-terms.ts';
import { openStream, type OpenStreamDeps, type Target } from './open-stream.ts';

/** A connection without work is closed after so long, and with it its bridge process in the container. Milliseconds. */
const IDLE_MS = 60_000;

type ConnectionDeps = OpenStreamDeps & { log: Logger; termsOf: TermsOf };

type OpenFirst = () => Promise<Duplex>;

interface Entry {
  connection: SupervisorConnection;
  stream: Duplex | undefined;
  /** One that is there without being opened; taken first. */
  given?: Duplex;
  /** Operations that wait for an answer. */
  users: number;
  /** Opens its streams until the first answer, or none, of a supervisor that was just woken. */
  openFirst: OpenFirst | undefined;
  kept: Promise<KeptTerms>;
  /** Reads the terms anew, which are kept until the signal is aborted. */
  keep: (signal: AbortSignal) => Promise<KeptTerms>;
  /** Ends what is kept now. */
  keeping: AbortController;
  closing: AbortController;
  idleTimer: NodeJS.Timeout | undefined;
}

/** This process's connections to supervisors: one per sandbox, opened on first use. */
export interface Connections {
  /** Runs an operation over the sandbox's connection. */
  use<T>(target: Target, operation: (connection: SupervisorConnection) => Promise<T>): Promise<T>;
  /**
   * The first answer of a supervisor that was just woken, over a stream that is opened whatever the sandbox's row still says and stays with the connection.
   * Undefined when somebody uses a connection already: that one waits for the row.
   */
  greet(target: Target, open: OpenFirst): Promise<void> | undefined;
  /** Greets the supervisor of a container that is about to be started, over its first stream. */
  begin(target: Target, stream: Duplex): void;
  /** True when the connection has a live stream, so the container has not ended. */
  isOpen(sandboxId: string): boolean;
  /** Commands that were cut off when the sandbox's processes last ended. */
  lostExecs(target: Target): Promise<LostExec[]>;
  /** `why` is the error of the operations in progress; without it they are let go of. */
  close(sandboxId: string, why?: Error): void;
  /** Lets go of a sandbox's stream: what is in flight goes on when the sandbox can be reached again. */
  disconnect(sandboxId: string): void;
  /** Reads again what holds for a sandbox; connections of the guest that were permitted before are closed. */
  renew(sandboxId: string): Promise<void>;
  /** The same, where another process has changed it. */
  refresh(sandboxId: string): Promise<void>;
  /** Closes a connection that nobody waits on; operations in flight on a frozen sandbox wait for its thaw. */
  closeUnlessUsed(sandboxId: string): void;
  /** Resolves when nothing more happens on their behalf; from then on none is opened. */
  closeAll(): Promise<void>;
  isClosed(): boolean;
}

export function createConnections(deps: ConnectionDeps): Connections {
  const { entries, close, closeAll, isClosed } = createEntries();
  const find = (target: Target, openFirst?: OpenFirst): Entry => {
    const known = entries.get(target.sandboxId);
    if (known) return known;
    // An operation that was under way when all was closed would leave a stream behind.
    if (isClosed()) throw failure('SANDBOX_UNREACHABLE', { sandboxId: target.sandboxId, problem: 'this process has closed its connections to sandboxes' });
    const entry = connect(deps, target, openFirst, (change) => hold(entry, target.sandboxId, change));
    entries.set(target.sandboxId, entry);
    // Without its terms it may not be used, and the next user has another try.
    entry.kept.catch(() => entries.get(target.sandboxId) === entry && close(target.sandboxId));
    return entry;
  };
  /** Counts those who need the connection; without any it is closed after a while. */
  const hold = (entry: Entry, sandboxId: string, change: 1 | -1) => {
    clearTimeout(entry.idleTimer);
    entry.users += change;
    if (entry.users > 0 || entry.closing.signal.aborted) return;
    entry.idleTimer = setTimeout(() => entries.get(sandboxId) === entry && close(sandboxId), IDLE_MS).unref();
  };
  const use = async <T>(target: Target, operation: (connection: SupervisorConnection) => Promise<T>, openFirst?: OpenFirst): Promise<T> => {
    const entry = find(target, openFirst);
    hold(entry, target.sandboxId, 1);
    try {
      // Ahead of anything of the guest's.
      (await entry.kept).ensureEgress();
      return await operation(entry.connection);
    } finally {
      entry.openFirst = undefined;
      hold(entry, target.sandboxId, -1);
    }
  };
  const closeUnlessUsed = (sandboxId: string) => {
    if (entries.get(sandboxId)?.users === 0) close(sandboxId);
  };

  return {
    use: (target, operation) => use(target, operation),
    begin(target, stream) {
      if (isClosed() || entries.has(target.sandboxId)) return void stream.destroy();
      find(target).given = stream;
      return void use(target, (connection) => connection.ping()).catch((error: unknown) => tellSilence(deps, target, error));
    },
    close,
    greet(target, open) {
      closeUnlessUsed(target.sandboxId);
      return entries.has(target.sandboxId) ? undefined : use(target, (connection) => connection.ping(), open);
    },
    disconnect(sandboxId) {
      const entry = entries.get(sandboxId);
      if (entry?.users === 0) return close(sandboxId);
      entry?.connection.disconnect();
      entry?.stream?.destroy();
    },
    renew: (sandboxId) => keepAnew(entries.get(sandboxId)),
    refresh: (sandboxId) => renewIfChanged(entries.get(sandboxId)),
    closeUnlessUsed,
    isOpen: (sandboxId) => isLive(entries.get(sandboxId)?.stream),
    lostExecs: async (target) => lostLately(await use(target, (connection) => connection.list())),
    closeAll,
    isClosed,
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
  return { entries, close, closeAll, isClosed: () => closed };
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
      return entry.keep(AbortSignal.any([entry.keeping.signal, entry.closing.signal]));
    });
  (await entry.kept).ensureEgress();
}

/** Rules that another process has changed hold from the next connection of the guest on, and break those that were permitted before. */
async function renewIfChanged(entry: Entry | undefined): Promise<void> {
  if (entry === undefined) return;
  const kept = await entry.kept;
  if (await kept.isCurrent()) return;
  // Unless another connection of the guest has found the same meanwhile.
  if ((await entry.kept) === kept) await keepAnew(entry);
}

async function admit(entry: Entry, tunnel: Duplex): Promise<void> {
  try {
    await renewIfChanged(entry);
    (await entry.kept).accept(tunnel);
  } catch (error) {
    tunnel.destroy(error instanceof Error ? error : undefined);
  }
}

/** It may have been destroyed before it was up; whoever needs it meets the same. */
function tellSilence({ log }: ConnectionDeps, { sandboxId }: Target, error: unknown): void {
  log.debug({ sandboxId, err: error }, 'a new supervisor did not answer over its first stream');
}

function lostLately(execs: ExecRecord[]): LostExec[] {
  return execs.filter(({ state, past }) => state === 'lost' && past !== true);
}

function isLive(stream: Duplex | undefined): boolean {
  return stream !== undefined && !stream.destroyed && !stream.readableEnded;
}

function connect(deps: ConnectionDeps, target: Target, openFirst: OpenFirst | undefined, hold: (change: 1 | -1) => void): Entry {
  const closing = new AbortController();
  let terms: SandboxTerms = {};
  const connection = connectSupervisor({
    sandboxId: target.sandboxId,
    log: deps.log,
    terms: () => terms,
    openStream: async () => {
      const stream = entry.given ?? (await (entry.openFirst?.() ?? openStream(deps, target, closing.signal)));
      delete entry.given;
      entry.stream = stream;
      stream.once('error', (error) => deps.log.debug({ sandboxId: target.sandboxId, err: error }, 'the stream to a supervisor broke'));
      return stream;
    },
  });
  const keep = async (signal: AbortSignal): Promise<KeptTerms> => {
    const found = await keepTerms(deps, target.sandboxId, { connection, signal, hold, onTunnel: (tunnel) => void admit(entry, tunnel) });
    terms = found.terms;
    return found;
  };
  const keeping = new AbortController();
  const kept = keep(AbortSignal.any([keeping.signal, closing.signal]));
  const entry: Entry = { connection, stream: undefined, users: 0, openFirst, kept, keep, keeping, closing, idleTimer: undefined };
  return entry;
}

/** The connection is closed at once; the promise is of what is left to tell. */
async function leave(entry: Entry, why: Error | undefined): Promise<void> {
  clearTimeout(entry.idleTimer);
  entry.closing.abort();
  entry.connection.close(why);
  entry.given?.destroy();
  entry.stream?.destroy();
  const kept = await entry.kept.catch(() => undefined);
  await kept?.close();
}

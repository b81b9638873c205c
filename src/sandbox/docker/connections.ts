import type { Duplex } from 'node:stream';
import type { Logger } from '../../log.ts';
import { connectSupervisor } from '../connection/connect-supervisor.ts';
import type { SupervisorConnection } from '../connection/supervisor-connection.ts';
import type { LostExec } from './describe-loss.ts';
import { openStream, type OpenStreamDeps, type Target } from './open-stream.ts';

/** A connection without work is closed after so long, and with it its bridge process in the container. Milliseconds. */
const IDLE_MS = 60_000;

type ConnectionDeps = OpenStreamDeps & { log: Logger };

interface Entry {
  connection: SupervisorConnection;
  stream: Duplex | undefined;
  /** Operations that wait for an answer. */
  users: number;
  closing: AbortController;
  idleTimer: NodeJS.Timeout | undefined;
}

/** This process's connections to supervisors: one per sandbox, opened on first use. */
export interface Connections {
  /** Runs an operation over the sandbox's connection. */
  use<T>(target: Target, operation: (connection: SupervisorConnection) => Promise<T>): Promise<T>;
  /** True when the connection has a live stream, so the container has not ended. */
  isOpen(sandboxId: string): boolean;
  /** Commands that the journal has as cut off, of those started after `since` (ISO 8601). */
  lostExecs(target: Target, since: string | undefined): Promise<LostExec[]>;
  close(sandboxId: string): void;
  /** Lets go of a sandbox's stream: what is in flight goes on when the sandbox can be reached again. */
  disconnect(sandboxId: string): void;
  /** Closes a connection that nobody waits on; operations in flight on a frozen sandbox wait for its thaw. */
  closeUnlessUsed(sandboxId: string): void;
  closeAll(): void;
}

export function createConnections(deps: ConnectionDeps): Connections {
  const entries = new Map<string, Entry>();

  const close = (sandboxId: string) => {
    const entry = entries.get(sandboxId);
    if (entry === undefined) return;
    entries.delete(sandboxId);
    clearTimeout(entry.idleTimer);
    entry.closing.abort();
    entry.connection.close();
    entry.stream?.destroy();
  };
  const find = (target: Target): Entry => {
    const entry = entries.get(target.sandboxId) ?? connect(deps, target);
    entries.set(target.sandboxId, entry);
    return entry;
  };
  const use: Connections['use'] = async (target, operation) => {
    const entry = find(target);
    clearTimeout(entry.idleTimer);
    entry.users += 1;
    try {
      return await operation(entry.connection);
    } finally {
      entry.users -= 1;
      if (entry.users === 0 && !entry.closing.signal.aborted) {
        entry.idleTimer = setTimeout(() => entries.get(target.sandboxId) === entry && close(target.sandboxId), IDLE_MS).unref();
      }
    }
  };

  return {
    use,
    close,
    disconnect(sandboxId) {
      const entry = entries.get(sandboxId);
      if (entry?.users === 0) return close(sandboxId);
      entry?.connection.disconnect();
      entry?.stream?.destroy();
    },
    closeUnlessUsed(sandboxId) {
      if (entries.get(sandboxId)?.users === 0) close(sandboxId);
    },
    isOpen(sandboxId) {
      const stream = entries.get(sandboxId)?.stream;
      return stream !== undefined && !stream.destroyed && !stream.readableEnded;
    },
    async lostExecs(target, since) {
      const execs = await use(target, (connection) => connection.list());
      return execs.filter(({ state, startedAt }) => state === 'lost' && (since === undefined || Date.parse(startedAt) >= Date.parse(since)));
    },
    closeAll() {
      for (const sandboxId of entries.keys()) close(sandboxId);
    },
  };
}

function connect(deps: ConnectionDeps, target: Target): Entry {
  const closing = new AbortController();
  const connection = connectSupervisor({
    sandboxId: target.sandboxId,
    log: deps.log,
    openStream: async () => {
      const stream = await openStream(deps, target, closing.signal);
      entry.stream = stream;
      stream.once('error', (error) => deps.log.debug({ sandboxId: target.sandboxId, err: error }, 'the stream to a supervisor broke'));
      return stream;
    },
  });
  const entry: Entry = { connection, stream: undefined, users: 0, closing, idleTimer: undefined };
  return entry;
}

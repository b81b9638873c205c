import type { Duplex } from 'node:stream';
import type { Logger } from '../../log.ts';
import type { SupervisorConnection } from '../connection/supervisor-connection.ts';
import type { Egress } from '../egress/create-egress.ts';

/** The way out of a sandbox, and what its programs have to trust; undefined for one without any. */
export type EgressOf = (sandboxId: string) => Promise<{ egress: Egress; certificate?: string } | undefined>;

export interface ServedEgress {
  /** Serves it, if nothing does. Its request goes ahead of what is asked afterwards, on this stream and on every later one. */
  ensureServed(): void;
  /** Breaks the guest's connections and tells what was not told yet. */
  close(): Promise<void>;
}

interface Over {
  connection: SupervisorConnection;
  signal: AbortSignal;
  /** Keeps our own connection while the guest has one outside. */
  hold: (change: 1 | -1) => void;
}

/** On the loopback of each sandbox that has a way out. */
const EGRESS_PORT = 15_080;

/** The way out of a sandbox over its connection; it is closed where it cannot be served. */
export async function serveEgress({ egressOf, log }: { egressOf: EgressOf; log: Logger }, sandboxId: string, over: Over): Promise<ServedEgress | undefined> {
  const found = await egressOf(sandboxId);
  if (!found) return undefined;
  const { egress, certificate } = found;
  const onTunnel = (tunnel: Duplex): void => {
    over.hold(1);
    tunnel.once('close', () => over.hold(-1));
    egress.accept(tunnel);
  };
  let serving = false;
  return {
    ensureServed() {
      if (serving || over.signal.aborted) return;
      serving = true;
      const options = { port: EGRESS_PORT, ...(certificate !== undefined && { certificate }), signal: over.signal, onTunnel };
      over.connection.serveTunnels(options).catch((error: unknown) => {
        serving = false;
        if (!over.signal.aborted) log.warn({ sandboxId, err: error }, 'the way out of a sandbox is closed');
      });
    },
    close: () => egress.close(),
  };
}

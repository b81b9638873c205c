import type { Duplex } from 'node:stream';
import type { Logger } from '../../../platform/log.ts';
import type { SandboxTerms } from '../../protocol/greeting.ts';
import type { SupervisorConnection } from '../../protocol/supervisor-connection.ts';
import type { Egress } from '../../egress/create-egress.ts';

/** Reads from a sandbox's row its terms, its egress if it has any, and the certificate that its programs have to trust. */
export type TermsOf = (sandboxId: string) => Promise<FoundTerms>;

interface FoundTerms {
  terms: SandboxTerms;
  egress?: Egress;
  certificate?: string;
  /** Whether the row still has the same egress rules. */
  isCurrent: () => Promise<boolean>;
}

export interface KeptTerms {
  terms: SandboxTerms;
  /** Starts to serve egress, if the sandbox has any and it is not served yet. The request is sent before all later operations, on this and on later streams. */
  ensureEgress(): void;
  /** Handles a connection of the guest to another host. */
  accept(tunnel: Duplex): void;
  /** False when the row has other egress rules now. True when the database is unavailable. */
  isCurrent(): Promise<boolean>;
  /** Closes the guest's connections and reports the decisions that are not reported yet. */
  close(): Promise<void>;
}

interface Over {
  connection: SupervisorConnection;
  signal: AbortSignal;
  /** Keeps the connection to the supervisor open while the guest has a connection to another host. */
  hold: (change: 1 | -1) => void;
  /** Called with each connection of the guest to another host. */
  onTunnel: (tunnel: Duplex) => void;
}

/** Port on the loopback interface of each sandbox that has egress. */
const EGRESS_PORT = 15_080;

/** Applies the terms of a sandbox over its connection. When egress cannot be served, the sandbox has none until the next operation. */
export async function keepTerms({ termsOf, log }: { termsOf: TermsOf; log: Logger }, sandboxId: string, over: Over): Promise<KeptTerms> {
  const { terms, egress, certificate, isCurrent: ask } = await termsOf(sandboxId);
  const isCurrent = async () =>
    ask().catch((error: unknown) => {
      log.debug({ sandboxId, err: error }, 'the rules of a sandbox could not be looked up');
      return true;
    });
  if (!egress) return { terms, ensureEgress: () => undefined, accept: (tunnel) => void tunnel.destroy(), isCurrent, close: () => Promise.resolve() };
  const onTunnel = (tunnel: Duplex): void => {
    over.hold(1);
    tunnel.once('close', () => over.hold(-1));
    over.onTunnel(tunnel);
  };
  let serving = false;
  return {
    terms,
    ensureEgress() {
      if (serving || over.signal.aborted) return;
      serving = true;
      const options = { port: EGRESS_PORT, ...(certificate !== undefined && { certificate }), signal: over.signal, onTunnel };
      over.connection.serveTunnels(options).catch((error: unknown) => {
        serving = false;
        if (!over.signal.aborted) log.warn({ sandboxId, err: error }, 'the egress of a sandbox has stopped');
      });
    },
    accept: (tunnel) => egress.accept(tunnel),
    isCurrent,
    close: () => egress.close(),
  };
}

import type { Duplex } from 'node:stream';
import type { Logger } from '../../log.ts';
import type { SandboxTerms } from '../connection/caller.ts';
import type { SupervisorConnection } from '../connection/supervisor-connection.ts';
import type { Egress } from '../egress/create-egress.ts';

/** What holds for a sandbox by its row: its terms, its way out if it has one, and what programs have to trust there. */
export type TermsOf = (sandboxId: string) => Promise<{ terms: SandboxTerms; egress?: Egress; certificate?: string }>;

export interface KeptTerms {
  terms: SandboxTerms;
  /** Serves the way out, if there is one and nothing does. Its request goes ahead of what is asked afterwards, on this stream and on every later one. */
  ensureEgress(): void;
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

/** Keeps what holds for a sandbox, over its connection. A way out that cannot be served is closed. */
export async function keepTerms({ termsOf, log }: { termsOf: TermsOf; log: Logger }, sandboxId: string, over: Over): Promise<KeptTerms> {
  const { terms, egress, certificate } = await termsOf(sandboxId);
  if (!egress) return { terms, ensureEgress: () => undefined, close: () => Promise.resolve() };
  const onTunnel = (tunnel: Duplex): void => {
    over.hold(1);
    tunnel.once('close', () => over.hold(-1));
    egress.accept(tunnel);
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
        if (!over.signal.aborted) log.warn({ sandboxId, err: error }, 'the way out of a sandbox is closed');
      });
    },
    close: () => egress.close(),
  };
}

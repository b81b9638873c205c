import type { Duplex } from 'node:stream';
import type { Logger } from '../../../platform/log.ts';
import type { SandboxTerms } from '../../protocol/caller.ts';
import type { SupervisorConnection } from '../../protocol/supervisor-connection.ts';
import type { Egress } from '../../egress/create-egress.ts';

/** What holds for a sandbox by its row: its terms, its way out if it has one, and what programs have to trust there. */
export type TermsOf = (sandboxId: string) => Promise<FoundTerms>;

interface FoundTerms {
  terms: SandboxTerms;
  egress?: Egress;
  certificate?: string;
  /** Whether the row still has the same rules about hosts. */
  isCurrent: () => Promise<boolean>;
}

export interface KeptTerms {
  terms: SandboxTerms;
  /** Serves the way out, if there is one and nothing does. Its request goes ahead of what is asked afterwards, on this stream and on every later one. */
  ensureEgress(): void;
  /** Takes a connection of the guest. */
  accept(tunnel: Duplex): void;
  /** False when the row has other rules about hosts by now. While the database is away those that are known hold. */
  isCurrent(): Promise<boolean>;
  /** Breaks the guest's connections and tells what was not told yet. */
  close(): Promise<void>;
}

interface Over {
  connection: SupervisorConnection;
  signal: AbortSignal;
  /** Keeps our own connection while the guest has one outside. */
  hold: (change: 1 | -1) => void;
  /** Given each connection of the guest. */
  onTunnel: (tunnel: Duplex) => void;
}

/** On the loopback of each sandbox that has a way out. */
const EGRESS_PORT = 15_080;

/** Keeps what holds for a sandbox, over its connection. A way out that cannot be served is closed. */
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
        if (!over.signal.aborted) log.warn({ sandboxId, err: error }, 'the way out of a sandbox is closed');
      });
    },
    accept: (tunnel) => egress.accept(tunnel),
    isCurrent,
    close: () => egress.close(),
  };
}

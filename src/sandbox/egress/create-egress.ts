import type { Duplex } from 'node:stream';
import type { EgressOptions, EgressParts, Patience } from './admit.ts';
import { createDecisions } from './decisions.ts';
import { ByteReader } from './http/byte-reader.ts';
import { RESOLVE_TIMEOUT_MS } from './judge.ts';
import { lookUpInTurns } from './look-up-in-turns.ts';
import { openTunnel } from './open-tunnel.ts';
import { serveRequests } from './serve-requests.ts';

/** The egress of one sandbox: connections to the hosts on its list. */
export interface Egress {
  /** Serves a connection of the guest, which uses it like a connection to an HTTP proxy. */
  accept(connection: Duplex): void;
  /** Destroys all connections, and reports the decisions that are not reported yet. */
  close(): Promise<void>;
}

const PATIENCE: Patience = { idleMs: 120_000, headMs: 20_000, helloMs: 20_000 };

/** A proxy that permits only what the list names. When a check fails, the connection is refused. */
export function createEgress(options: EgressOptions): Egress {
  const parts: EgressParts = {
    ...options,
    policy: lookUpInTurns(options.policy, RESOLVE_TIMEOUT_MS),
    patience: { ...PATIENCE, ...options.patience },
    decisions: createDecisions(options.tell, options.mask),
  };
  for (const rule of options.egress)
    if (typeof rule !== 'string' && rule.cleartext === true)
      options.log.warn({ host: rule.host }, 'credentials for this host are also sent without TLS, since its egress rule says cleartext: true');
  const open = new Set<Duplex>();
  return {
    accept(connection) {
      open.add(connection);
      connection.on('error', () => connection.destroy());
      connection.once('close', () => open.delete(connection));
      const guest = { connection, reader: new ByteReader(connection) };
      void serveRequests(parts, guest, { openTunnel: (request) => openTunnel(parts, request, guest) });
    },
    async close() {
      for (const connection of open) connection.destroy();
      await parts.decisions.close();
    },
  };
}

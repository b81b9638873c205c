import type { Duplex } from 'node:stream';
import { failure } from '../../contracts/errors.ts';
import type { Caller } from './caller.ts';
import { createCheckedLineReader } from './lines.ts';
import { TunnelStream } from './tunnel-stream.ts';

export interface ServeTunnelsOptions {
  /** Port on the container's loopback on which the supervisor listens for the guest. */
  port: number;
  /** A certificate (PEM) that the guest's programs must trust. */
  certificate?: string;
  signal: AbortSignal;
  /** Called with each connection of the guest. The connection is destroyed when the stream to the supervisor breaks. */
  onTunnel: (tunnel: Duplex) => void;
}

/** Accepts the guest's connections until `signal` is aborted; then it rejects with `INTERRUPTED`. Continues on the next stream when one breaks. */
export async function serveTunnels(caller: Caller, { port, certificate, signal, onTunnel }: ServeTunnelsOptions): Promise<void> {
  const read = (): ((chunk: Buffer) => void) => createCheckedLineReader('tunnel.serve', ({ tunnelId }) => onTunnel(accept(caller, tunnelId)));
  let reader = read();
  const fields = { port, ...(certificate !== undefined && { certificate }) };
  await caller.call({
    operation: 'tunnel.serve',
    fields: () => fields,
    onData: (chunk) => reader(chunk),
    onRepeat: () => (reader = read()),
    signal,
    letGo: () => failure('INTERRUPTED', { callId: 'the egress of the sandbox' }),
  });
}

function accept(caller: Caller, tunnelId: string): TunnelStream {
  const tunnel = new TunnelStream();
  // The user of the tunnel handles its errors. A tunnel without a user must not end the process.
  tunnel.on('error', () => undefined);
  caller
    .call({
      operation: 'tunnel.accept',
      fields: () => ({ tunnelId }),
      once: true,
      upload: () => tunnel.pieces(),
      onData: (chunk) => tunnel.receive(chunk),
      signal: tunnel.gone,
    })
    .catch((error: Error) => void tunnel.destroy(error));
  return tunnel;
}

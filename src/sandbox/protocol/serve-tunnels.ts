import type { Duplex } from 'node:stream';
import { failure } from '../../contracts/errors.ts';
import type { Caller } from './caller.ts';
import { createLineReader } from './lines.ts';
import { TunnelStream } from './tunnel-stream.ts';

export interface ServeTunnelsOptions {
  /** Where the supervisor listens for the guest, on the container's loopback. */
  port: number;
  /** A PEM that the guest's programs are to trust. */
  certificate?: string;
  signal: AbortSignal;
  /** Given each connection of the guest; it is reset when the stream to the supervisor breaks. */
  onTunnel: (tunnel: Duplex) => void;
}

/** Takes the guest's connections until it is aborted (rejecting with `INTERRUPTED`); goes on by itself on the next stream when one breaks. */
export async function serveTunnels(caller: Caller, { port, certificate, signal, onTunnel }: ServeTunnelsOptions): Promise<void> {
  const read = (): ((chunk: Buffer) => void) => createLineReader('tunnel.serve', ({ tunnelId }) => onTunnel(accept(caller, tunnelId)));
  let reader = read();
  const fields = { port, ...(certificate !== undefined && { certificate }) };
  await caller.call({
    operation: 'tunnel.serve',
    fields: () => fields,
    onData: (chunk) => reader(chunk),
    onRepeat: () => (reader = read()),
    signal,
    letGo: () => failure('INTERRUPTED', { callId: 'the way out of the sandbox' }),
  });
}

function accept(caller: Caller, tunnelId: string): TunnelStream {
  const tunnel = new TunnelStream();
  // Errors are told to whoever uses it; one without a user must not end the process.
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

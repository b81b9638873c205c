import { anySignal } from '../../common/any-signal.ts';
import { failure, isFailure } from '../../contracts/errors.ts';
import type { ConnectPortOptions } from '../api/host-methods.ts';
import type { Caller } from './caller.ts';
import { portClosed } from './protocol-failures.ts';
import { TunnelStream } from './tunnel-stream.ts';

/** What supervisors of earlier images answer. */
const UNKNOWN = 'the operation is unknown';

/** Connects to a port of the guest, and resolves when both sides have ended. @throws PORT_CLOSED, SANDBOX_UNREACHABLE when the stream to the supervisor breaks */
export async function connectPort(caller: Caller, port: number, { onOpen, signal }: ConnectPortOptions): Promise<void> {
  const connection = new TunnelStream();
  // Its user handles its errors; the call reports them, too.
  connection.on('error', () => undefined);
  try {
    await caller.call({
      operation: 'port.connect',
      fields: () => ({ port }),
      once: true,
      upload() {
        onOpen(connection);
        return connection.pieces();
      },
      onData: (chunk) => connection.receive(chunk),
      signal: anySignal([connection.gone, signal]),
      letGo: () => failure('INTERRUPTED', { callId: `the connection to port ${port}` }),
    });
  } catch (error) {
    connection.destroy(error as Error);
    const isOlder = isFailure(error, 'INVALID_ARGUMENT') && error.values['problem'] === UNKNOWN;
    throw isOlder ? portClosed('its image is of an earlier version; build the image again', { port }, caller.sandboxId) : error;
  }
}

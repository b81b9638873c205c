import { Duplex } from 'node:stream';
import { answerIn } from './exchanges.ts';
import type { HostClient, Target } from './host-client.ts';
import type { OpenCall } from './open-call.ts';

/**
 * Connects to a port of a sandbox. Aborting the signal breaks the connection.
 * @throws PORT_CLOSED when nothing listens there
 */
export async function connectPort(hosts: HostClient, target: Target, port: number, signal: AbortSignal): Promise<PortConnection> {
  const call = await hosts.open(target, { do: 'ports.connect', port }, signal);
  try {
    answerIn(await call.messages.next());
    return new PortConnection(call);
  } catch (error) {
    call.abort();
    throw error;
  }
}

/** A connection to a program of the guest. A break at any place between here and there is an error; an end is an end. */
export class PortConnection extends Duplex {
  /** Time (of `performance.now()`) at which bytes last went in either direction. */
  touchedAt = performance.now();
  readonly #call: OpenCall;

  constructor(call: OpenCall) {
    super({ allowHalfOpen: true });
    this.#call = call;
  }

  override _read(): void {
    this.#readMessage().catch((error: Error) => this.destroy(error));
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, sent: (error?: Error) => void): void {
    this.touchedAt = performance.now();
    this.#call.sender.data(chunk).then(() => sent(), sent);
  }

  override _final(sent: () => void): void {
    this.#call.sender.end();
    sent();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#call.abort();
    done(error);
  }

  async #readMessage(): Promise<void> {
    const { done, value } = await this.#call.messages.next();
    this.touchedAt = performance.now();
    if (done === true) this.push(null);
    else if (value.kind === 'data') this.push(value.bytes);
    else this.destroy(new Error('a message that is no data'));
  }
}

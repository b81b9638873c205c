import { Duplex } from 'node:stream';

const HEADER_BYTES = 8;
const STDOUT = 1;
const STDERR = 2;
const ERROR_TEXT_BYTES = 1024;
/** The supervisor's frames begin with their length, which is too small to have a printable first byte. */
const FIRST_PRINTABLE = 0x20;

/**
 * The stream of a `docker exec` without a terminal. Writes go to the process's stdin. Of the engine's multiplexed answer, stdout is read, and stderr becomes
 * the error that ends the stream. When an engine could not start the process, it sends the reason as text on stdout; that becomes the error too. Only Node's
 * streams buffer data.
 * With `content`, for an attached container, stdout is read whatever it begins with, and stderr does not end the stream: `errorText` returns it.
 */
export class Bridge extends Duplex {
  readonly #socket: Duplex;
  readonly #header = Buffer.alloc(HEADER_BYTES);
  #headerFilled = 0;
  #channel = STDOUT;
  #payloadLeft = 0;
  #errorText = '';
  #isText: boolean | undefined;
  readonly #isContent: boolean;

  constructor(socket: Duplex, stdout: 'frames' | 'content' = 'frames') {
    super();
    this.#socket = socket;
    this.#isContent = stdout === 'content';
    if (this.#isContent) this.#isText = false;
    socket.on('data', (chunk: Buffer) => {
      if (!this.#accept(chunk)) socket.pause();
    });
    socket.on('end', () => this.#finish());
    socket.on('close', () => this.#finish());
    socket.on('error', (error) => this.destroy(error));
    // It can break before its user listens. Without any listener, that would end the process.
    this.on('error', () => undefined);
  }

  /** The last 1024 characters of stderr, and of a stdout that was an error text. */
  get errorText(): string {
    return this.#errorText;
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(chunk, done);
  }

  override _writev(chunks: { chunk: Buffer }[], done: (error?: Error | null) => void): void {
    this.#socket.cork();
    for (const { chunk } of chunks.slice(0, -1)) this.#socket.write(chunk);
    this.#socket.write(chunks.at(-1)?.chunk ?? '', done);
    this.#socket.uncork();
  }

  override _final(done: () => void): void {
    this.#socket.end(done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }

  /** Parses frames of `channel, 0, 0, 0, length (big-endian), payload`. Returns false when the reader's buffer is full. */
  #accept(chunk: Buffer): boolean {
    let wanted = true;
    for (let rest = chunk; rest.length > 0;) {
      if (this.#payloadLeft === 0) {
        rest = this.#readHeader(rest);
        continue;
      }
      const payload = rest.subarray(0, this.#payloadLeft);
      rest = rest.subarray(payload.length);
      this.#payloadLeft -= payload.length;
      if (this.#channel === STDOUT) this.#isText ??= payload.readUInt8(0) >= FIRST_PRINTABLE;
      if (this.#channel === STDOUT && this.#isText !== true) wanted = this.push(payload) && wanted;
      else if (this.#channel === STDOUT || this.#channel === STDERR) this.#errorText = (this.#errorText + payload.toString()).slice(-ERROR_TEXT_BYTES);
    }
    return wanted;
  }

  #readHeader(bytes: Buffer): Buffer {
    const taken = bytes.copy(this.#header, this.#headerFilled, 0, Math.min(bytes.length, HEADER_BYTES - this.#headerFilled));
    this.#headerFilled += taken;
    if (this.#headerFilled === HEADER_BYTES) {
      this.#headerFilled = 0;
      this.#channel = this.#header.readUInt8(0);
      this.#payloadLeft = this.#header.readUInt32BE(4);
    }
    return bytes.subarray(taken);
  }

  #finish(): void {
    if (this.destroyed || this.readableEnded) return;
    if (this.#errorText !== '' && !this.#isContent) this.destroy(new Error(this.#errorText.trim()));
    else this.push(null);
  }
}

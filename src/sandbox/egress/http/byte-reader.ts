import type { Readable } from 'node:stream';

const START_BYTES = 4096;

/**
 * Reads a stream by bytes, independent of its chunks. Bytes that arrive one by one are not expensive: the buffer grows by doubling.
 */
export class ByteReader {
  readonly #stream: Readable;
  #buffer = Buffer.alloc(0);
  #start = 0;
  #end = 0;

  constructor(stream: Readable) {
    this.#stream = stream;
  }

  /** Bytes that have arrived and were not taken. Valid until the next call. */
  get held(): Buffer {
    return this.#buffer.subarray(this.#start, this.#end);
  }

  /** Waits for more bytes; false at the end of the stream. */
  async more(): Promise<boolean> {
    const chunk = await nextChunk(this.#stream);
    if (chunk === undefined) return false;
    this.#hold(chunk);
    return true;
  }

  /** Waits until `count` bytes are held; false when the stream ends before. */
  async atLeast(count: number): Promise<boolean> {
    while (this.held.length < count) if (!(await this.more())) return false;
    return true;
  }

  /** Takes the first `count` held bytes, or all if there are fewer, as a copy. */
  take(count: number): Buffer {
    const taken = Buffer.from(this.held.subarray(0, count));
    this.#start += taken.length;
    return taken;
  }

  /** Takes the next bytes, at most `most`; undefined at the end of the stream. */
  async piece(most: number): Promise<Buffer | undefined> {
    if (this.held.length > 0) return this.take(most);
    const chunk = await nextChunk(this.#stream);
    if (chunk === undefined || chunk.length <= most) return chunk;
    this.#hold(chunk);
    return this.take(most);
  }

  /** Puts the held bytes back into the stream, for its next reader. A stream that has ended accepts none, so it is destroyed. */
  release(): void {
    if (this.#stream.readableEnded) this.#stream.destroy();
    else if (this.held.length > 0) this.#stream.unshift(this.take(this.held.length));
  }

  #hold(chunk: Buffer): void {
    const { held } = this;
    if (this.#end + chunk.length > this.#buffer.length) {
      const grown = Buffer.allocUnsafe(Math.max(START_BYTES, (held.length + chunk.length) * 2));
      held.copy(grown);
      [this.#buffer, this.#start, this.#end] = [grown, 0, held.length];
    }
    chunk.copy(this.#buffer, this.#end);
    this.#end += chunk.length;
  }
}

async function nextChunk(stream: Readable): Promise<Buffer | undefined> {
  for (;;) {
    if (stream.readableEnded) return undefined;
    if (stream.destroyed) throw new Error('the connection was closed');
    const chunk = stream.read() as Buffer | null;
    if (chunk !== null) return chunk;
    await changed(stream);
  }
}

function changed(stream: Readable): Promise<void> {
  return new Promise((resolve, reject) => {
    const events = ['readable', 'end', 'close'];
    const settle = (error?: Error): void => {
      for (const event of events) stream.off(event, settle);
      stream.off('error', settle);
      if (error instanceof Error) reject(error);
      else resolve();
    };
    for (const event of events) stream.on(event, settle);
    stream.on('error', settle);
  });
}

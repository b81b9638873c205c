import { Duplex } from 'node:stream';

interface Piece {
  chunk: Uint8Array;
  /** Called when the piece was sent. */
  sent: () => void;
}

const END = new Uint8Array(0);

/** One connection of the guest: reading returns what the guest sends, writing sends to the guest. Both directions have back pressure. */
export class TunnelStream extends Duplex {
  /** Aborted when the stream is destroyed before both directions have ended. What was sent last may still be on its way to a guest that reads slowly. */
  readonly gone: AbortSignal;
  readonly #gone = new AbortController();
  #wanted: (() => void)[] = [];
  #pieces: Piece[] = [];
  #wake: (() => void) | undefined;

  constructor() {
    super({ allowHalfOpen: true });
    this.gone = this.#gone.signal;
  }

  /** Takes what the guest sent; an empty piece is the end. A returned promise resolves when there is room for more. */
  receive(chunk: Buffer): void | Promise<void> {
    if (this.destroyed) return undefined;
    if (this.push(chunk.length === 0 ? null : chunk) || chunk.length === 0) return undefined;
    return new Promise((resolve) => this.#wanted.push(resolve));
  }

  /** The pieces to send to the guest. An empty piece is the end. */
  async *pieces(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const piece = this.#pieces.shift();
      if (piece === undefined) {
        await new Promise<void>((resolve) => (this.#wake = resolve));
        if (this.destroyed) return;
        continue;
      }
      yield piece.chunk;
      piece.sent();
      if (piece.chunk === END) return;
    }
  }

  override _read(): void {
    for (const resolve of this.#wanted.splice(0)) resolve();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, sent: () => void): void {
    this.#add({ chunk, sent });
  }

  override _final(sent: () => void): void {
    this.#add({ chunk: END, sent });
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this._read();
    this.#wake?.();
    if (!this.readableEnded || !this.writableFinished) this.#gone.abort();
    done(error);
  }

  #add(piece: Piece): void {
    this.#pieces.push(piece);
    this.#wake?.();
  }
}

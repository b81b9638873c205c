/**
 * Bytes that come piece by piece, copied into one buffer that grows by doubling. A list of the pieces would keep some 200 bytes for each, and with it the chunk
 * that the piece is a part of: who sends them one by one could fill the memory of this process.
 */
export class GrowingBytes {
  #bytes = Buffer.alloc(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(piece: Uint8Array): void {
    const length = this.#length + piece.length;
    if (length > this.#bytes.length) {
      const grown = Buffer.allocUnsafe(this.#length === 0 ? length : 2 * length);
      this.#bytes.copy(grown, 0, 0, this.#length);
      this.#bytes = grown;
    }
    this.#bytes.set(piece, this.#length);
    this.#length = length;
  }

  /** All of them. None is held afterwards. */
  take(): Buffer {
    const taken = this.#bytes.subarray(0, this.#length);
    this.#bytes = Buffer.alloc(0);
    this.#length = 0;
    return taken;
  }
}

/** A map of a limited size. A further entry evicts the least recently used ones. */
export class RecentMap<Key, Value> {
  readonly #entries = new Map<Key, Value>();
  readonly #most: number;
  readonly #sizeOf: (value: Value) => number;
  #total = 0;

  /**
   * @param most how many entries, or how much they may be together
   * @param sizeOf how much an entry counts; it must not change. An entry that is more than `most` is not kept
   */
  constructor(most: number, sizeOf: (value: Value) => number = () => 1) {
    this.#most = most;
    this.#sizeOf = sizeOf;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: Key): Value | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined) this.#moveToEnd(key, value);
    return value;
  }

  set(key: Key, value: Value): void {
    this.delete(key);
    const size = this.#sizeOf(value);
    if (size > this.#most) return;
    this.#entries.set(key, value);
    this.#total += size;
    this.evictWhile(() => this.#total > this.#most);
  }

  delete(key: Key): void {
    const value = this.#entries.get(key);
    if (value !== undefined) this.#total -= this.#sizeOf(value);
    this.#entries.delete(key);
  }

  /** Evicts the least recently used entries, up to the first for which `test` is false. */
  evictWhile(test: (value: Value) => boolean): void {
    for (const [key, value] of this.#entries) {
      if (!test(value)) return;
      this.delete(key);
    }
  }

  /** A `Map` iterates over its keys in the order in which they were added. */
  #moveToEnd(key: Key, value: Value): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
  }
}

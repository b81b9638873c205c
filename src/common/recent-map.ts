/** A map with a limited number of entries. A further entry evicts the least recently used one. */
export class RecentMap<Key, Value> {
  readonly #entries = new Map<Key, Value>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  get(key: Key): Value | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined) this.#moveToEnd(key, value);
    return value;
  }

  set(key: Key, value: Value): void {
    this.#moveToEnd(key, value);
    if (this.#entries.size <= this.#most) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      return;
    }
  }

  delete(key: Key): void {
    this.#entries.delete(key);
  }

  /** A `Map` iterates over its keys in the order in which they were added. */
  #moveToEnd(key: Key, value: Value): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
  }
}

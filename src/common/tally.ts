/** Amounts by name. A name with none takes no memory. */
export class Tally {
  readonly #amounts = new Map<string, number>();

  of(name: string): number {
    return this.#amounts.get(name) ?? 0;
  }

  /** Adds an amount, or takes it away when it is negative. */
  add(name: string, amount: number): void {
    const sum = this.of(name) + amount;
    if (sum === 0) this.#amounts.delete(name);
    else this.#amounts.set(name, sum);
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { Narrator } from '../demo/narrator.ts';

const EVENTUALLY_MS = 90_000;
const POLL_MS = 200;

/** What the demo promises; each check is printed. */
export class Checks {
  readonly #narrator: Narrator;
  failed = 0;

  constructor(narrator: Narrator) {
    this.#narrator = narrator;
  }

  hold(what: string, holds: boolean): void {
    if (holds) this.#narrator.tell(`✓ ${what}`, 'green');
    else this.fail(`this is NOT so: ${what}`);
  }

  fail(problem: string): void {
    this.failed += 1;
    this.#narrator.tell(`✗ ${problem}`, 'red');
  }

  /** Waits for it. */
  async eventually(what: string, condition: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + EVENTUALLY_MS;
    let holds = await condition();
    for (; !holds && performance.now() < deadline; holds = await condition()) await sleep(POLL_MS);
    this.hold(what, holds);
  }
}

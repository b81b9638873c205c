import type { Engine } from '../../engine/engine.ts';

/** An engine that was set up anew is asked again after this time. Milliseconds. */
const KEPT_MS = 60_000;

/** The runtimes of this host's engine, asked for once in a while. Undefined where there are no containers, and so no runtimes. */
export function createOwnRuntimes(engine: Pick<Engine, 'facts' | 'gvisor'>): () => Promise<string[] | undefined> {
  let known: { until: number; runtimes: Promise<string[]> } | undefined;
  return async () => {
    if (engine.gvisor === undefined) return undefined;
    if (known && performance.now() < known.until) return known.runtimes;
    const runtimes = engine.facts().then((facts) => facts.runtimes);
    known = { until: performance.now() + KEPT_MS, runtimes };
    runtimes.catch(() => (known = undefined));
    return runtimes;
  };
}

/** A benchmark's outcome: `ratio` compares the subject with a baseline measured in the same run; `p50` and `p95` are the subject's. */
export interface Measurement {
  name: string;
  ratio: number;
  /** The ratio should not be above this; absent where the figure is only told. */
  goal?: number;
  p50: number;
  p95: number;
  unit: 'ms' | 'bytes' | 'MiB';
  /** The same of the baseline, for people. */
  baseline: { what: string; p50: number; p95: number };
}

/** What a benchmark has to say; `skipped` tells what this machine lacks for it. */
export type BenchmarkResult = Measurement[] | { skipped: string };

type Head = Pick<Measurement, 'name' | 'goal' | 'unit'> & { baselineIs: string };

/**
 * Makes a measurement from the samples of subject and baseline; the ratio is that of the medians.
 * @throws an Error where a time is missing: the benchmark no longer sees what it measures
 */
export function compare(head: Head, samples: { subject: number[]; baseline: number[] }): Measurement {
  const { baselineIs, ...rest } = head;
  const { subject, baseline: others } = samples;
  if (subject.length === 0 || others.length === 0 || [...subject, ...others].some(Number.isNaN)) throw new Error(`${head.name}: nothing was measured`);
  const [p50, base] = [percentile(subject, 50), percentile(others, 50)];
  const baseline = { what: baselineIs, p50: base, p95: percentile(others, 95) };
  return { ...rest, ratio: p50 / base, p50, p95: percentile(subject, 95), baseline };
}

/** Makes a measurement of samples that have to stay below a limit; the ratio is to the limit. */
export function compareWithLimit(head: Pick<Measurement, 'name' | 'unit'> & { limit: number }, subject: number[]): Measurement {
  const { limit, ...rest } = head;
  return compare({ ...rest, goal: 1, baselineIs: 'the limit' }, { subject, baseline: [limit] });
}

/** Milliseconds that a piece of work takes. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

export function percentile(samples: number[], percent: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil((sorted.length * percent) / 100) - 1)] ?? Number.NaN;
}

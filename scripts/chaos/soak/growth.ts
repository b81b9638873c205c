/** What is looked at again and again under a steady load. */
export interface Sample {
  /** Of the largest worker and service, in MB. */
  workerMb: number;
  serviceMb: number;
  /** Open files and connections of all workers and services. */
  handles: number;
  /** Processes that they have started. */
  children: number;
  containers: number;
  /** Of all tables, for each conversation that has begun. */
  rowsEach: number;
}

type Figure = keyof Sample;

/** How much more the end may have than the start: a share of it, and a number. */
const ALLOWED: Record<Figure, { share: number; more: number; unit: string }> = {
  workerMb: { share: 0.15, more: 20, unit: 'MB, the largest worker' },
  serviceMb: { share: 0.15, more: 20, unit: 'MB, the largest service' },
  handles: { share: 0.1, more: 10, unit: 'open files and connections' },
  children: { share: 0, more: 2, unit: 'processes of plugins' },
  containers: { share: 0, more: 4, unit: 'containers' },
  rowsEach: { share: 0.1, more: 2, unit: 'rows for each conversation' },
};
/** Parts of the time whose medians are compared. What comes before the first is the warming up. */
const PARTS = { start: [0.2, 0.4], middle: [0.5, 0.7], end: [0.8, 1] } as const;

export const RULE =
  'The medians of its end (the last fifth) may exceed those of its start (the second fifth) by 15 % and 20 MB of memory, 10 % and 10 handles, 2 processes, 4 containers, and 10 % and 2 rows for each conversation.';

export function growthOf(samples: readonly Sample[]): string[] {
  return figures().flatMap((figure) => {
    const { share, more, unit } = ALLOWED[figure];
    const [start, end] = [medianOf(samples, figure, 'start'), medianOf(samples, figure, 'end')];
    const most = start * (1 + share) + more;
    return end <= most ? [] : [`${unit}: ${shown(start)} at the start and ${shown(end)} at the end; ${shown(most)} are allowed`];
  });
}

export function tableOf(samples: readonly Sample[]): string[] {
  return figures().map((figure) => {
    const parts = (['start', 'middle', 'end'] as const).map((part) => `${part} ${shown(medianOf(samples, figure, part))}`);
    return `${ALLOWED[figure].unit}: ${parts.join(', ')}`;
  });
}

function figures(): Figure[] {
  return Object.keys(ALLOWED) as Figure[];
}

function medianOf(samples: readonly Sample[], figure: Figure, part: keyof typeof PARTS): number {
  const [from, to] = PARTS[part];
  const values = samples.slice(Math.floor(samples.length * from), Math.ceil(samples.length * to)).map((sample) => sample[figure]);
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

function shown(value: number): string {
  return String(Math.round(value * 10) / 10);
}

import type { NewEvent } from '../store/store.ts';
import type { ModelDelta } from './model.ts';

/** Milliseconds in which deltas are collected before they are written: fast models send hundreds a second. */
const GATHER_MS = 50;
/** The first unit of a character that has two. */
const HALF = /[\uD800-\uDBFF]$/;

export interface DeltaWriter {
  add: (delta: ModelDelta) => void;
  /** Writes the remaining deltas, and throws the first error of a write. */
  flush(): Promise<void>;
  /** The same, but leaves the remaining ones to the caller. */
  rest(): Promise<NewEvent[]>;
}

/** Writes a model's deltas to the events as they come, one write at a time, in order. */
export function createDeltaWriter(append: (events: NewEvent[]) => Promise<void>, stamp: Pick<NewEvent, 'turnId' | 'stepId' | 'attempt'>): DeltaWriter {
  let gathered: ModelDelta[] = [];
  let writing: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;

  function take(): NewEvent[] {
    clearTimeout(timer);
    timer = undefined;
    const deltas = gathered;
    gathered = [];
    return deltas.map((delta) => ({ ...stamp, type: `${delta.type}.delta` as const, data: { text: delta.text } }));
  }

  /** Half a character at the end waits for its other half, which Postgres could not keep by itself either. */
  function half(): ModelDelta | undefined {
    const last = gathered.at(-1);
    if (!last || !HALF.test(last.text)) return undefined;
    const rest = { ...last, text: last.text.slice(-1) };
    last.text = last.text.slice(0, -1);
    if (last.text === '') gathered.pop();
    return rest;
  }

  function writeMost(): void {
    const rest = half();
    void write();
    if (rest) gathered.push(rest);
  }

  function write(): Promise<void> {
    const events = take();
    if (events.length > 0) writing = writing.then(() => append(events));
    // `flush` throws the error; until then it must not count as unhandled.
    writing.catch(() => undefined);
    return writing;
  }

  return {
    add(delta) {
      const last = gathered.at(-1);
      if (last?.type === delta.type) last.text += delta.text;
      else gathered.push({ ...delta });
      timer ??= setTimeout(writeMost, GATHER_MS);
    },
    flush: write,
    async rest() {
      const events = take();
      await writing;
      return events;
    },
  };
}

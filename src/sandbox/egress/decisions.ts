import type { EventData } from '../../contracts/events.ts';
import type { EgressTarget } from './rules.ts';

export type EgressSummary = EventData['sandbox.egress'];
type Line = EgressSummary['decisions'][number];

/** Counts the bytes of one connection. */
export interface Tally {
  sent: (bytes: number) => void;
  received: (bytes: number) => void;
}

export interface Decisions {
  /** Records a decision. `why` is the reason of a refusal; absent when the connection is allowed. */
  note(target: EgressTarget | string, why?: string): Tally;
  /** Reports what was not reported yet, and stops reporting. */
  close(): Promise<void>;
}

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 60_000;
/** The most lines of one summary; further connections are only counted. */
const MAX_LINES = 50;
const MAX_HOST_LENGTH = 255;
const MAX_REASON_LENGTH = 500;

/**
 * Sums decisions up, so that many connections do not cause many events. Equal decisions are one line with a count. While decisions continue, the summaries
 * become rarer, down to one a minute.
 */
export function createDecisions(tell: (summary: EgressSummary) => Promise<void>, mask: (text: string) => string = (text) => text): Decisions {
  let lines = new Map<string, Line>();
  let leftOut = 0;
  let pauseMs = FIRST_PAUSE_MS;
  let timer: NodeJS.Timeout | undefined;
  let telling: Promise<void> = Promise.resolve();
  let closed = false;

  const flush = (): void => {
    timer = undefined;
    if (lines.size === 0) {
      pauseMs = FIRST_PAUSE_MS;
      return;
    }
    const summary = { decisions: [...lines.values()], ...(leftOut > 0 && { leftOut }) };
    lines = new Map();
    leftOut = 0;
    telling = telling.then(() => tell(summary));
    pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    schedule();
  };
  const schedule = (): void => {
    if (!closed) timer ??= setTimeout(flush, pauseMs).unref();
  };
  /** The line with these words in the current summary; undefined when the summary is full. */
  const lineOf = (words: Pick<Line, 'host' | 'port' | 'decision' | 'why'>): Line | undefined => {
    const key = JSON.stringify(words);
    const found = lines.get(key);
    if (found) return found;
    if (lines.size >= MAX_LINES) return undefined;
    const line = { ...words, connections: 0, sentBytes: 0, receivedBytes: 0 };
    lines.set(key, line);
    return line;
  };

  return {
    note(target, why) {
      const where = typeof target === 'string' ? { host: printable(mask(target), MAX_HOST_LENGTH) } : { ...target, host: mask(target.host) };
      const words = {
        ...where,
        decision: why === undefined ? ('allowed' as const) : ('refused' as const),
        ...(why !== undefined && { why: printable(mask(why), MAX_REASON_LENGTH) }),
      };
      const add = (field: 'connections' | 'sentBytes' | 'receivedBytes', count: number): void => {
        const line = lineOf(words);
        if (line) line[field] += count;
        else if (field === 'connections') leftOut += 1;
        schedule();
      };
      add('connections', 1);
      return { sent: (bytes) => add('sentBytes', bytes), received: (bytes) => add('receivedBytes', bytes) };
    },
    async close() {
      clearTimeout(timer);
      timer = undefined;
      flush();
      closed = true;
      clearTimeout(timer);
      await telling;
    },
  };
}

/** A text that contains what the guest wrote, made safe for a log. It is cut only after secrets were taken out: a part of one would not be found. */
function printable(text: string, most: number): string {
  return text.slice(0, most).replaceAll(/[^\x20-\x7e]/g, '\ufffd');
}

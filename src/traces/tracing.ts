import type { SpanPlace } from './trace-ids.ts';

export type SpanAttributes = Record<string, string | number | boolean>;

/** Work that has ended. */
export interface EndedSpan extends SpanPlace {
  name: string;
  kind: 'internal' | 'client' | 'server';
  /** Absent for the first span of a trace. */
  parentSpanId?: string;
  /** Spans of other traces that it belongs to. */
  links?: SpanPlace[];
  startMs: number;
  endMs: number;
  attributes: SpanAttributes;
  /** The kind of error, when it failed; never its text, which may have content of the conversation. */
  errorType?: string | undefined;
}

/** Takes spans and sends them on. Disposing it sends those that wait. */
export interface Tracing extends AsyncDisposable {
  record(span: EndedSpan): void;
}

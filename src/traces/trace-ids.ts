import { createHash } from 'node:crypto';

/** Where a span is: ids in the form of W3C Trace Context. */
export interface SpanPlace {
  traceId: string;
  spanId: string;
}

const TRACE_ID_LENGTH = 32;
const SPAN_ID_LENGTH = 16;

/**
 * The trace of a turn and its first span. They follow from the turn's id: every process knows them, so nothing has to be passed through the workflow, and a span
 * that is told twice has the same ids.
 */
export function turnPlace(turnId: string): SpanPlace {
  return { traceId: digest('trace', turnId).slice(0, TRACE_ID_LENGTH), spanId: spanIdOf('turn', turnId) };
}

/** The id of the span of what these texts name. */
export function spanIdOf(...names: string[]): string {
  return digest('span', ...names).slice(0, SPAN_ID_LENGTH);
}

function digest(...names: string[]): string {
  return createHash('sha256').update(JSON.stringify(names)).digest('hex');
}

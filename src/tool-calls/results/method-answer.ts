import type { Json } from '../../contracts/json.ts';
import type { ExecuteToolArgs } from '../../contracts/activities.ts';
import { failure } from '../../contracts/errors.ts';
import type { ContentPart } from '../../contracts/transcript.ts';
import { cutMiddle } from '../../contracts/visible-text.ts';
import type { MethodAnswer } from '../../sandbox/api/methods.ts';
import type { ToolCallRow } from '../../store/tool-call-rows.ts';
import { isContentResult, resultTextOf } from './tool-result.ts';

/** Largest value that code gets, in bytes of JSON. */
export const MAX_VALUE_BYTES = 1_000_000;

/** The value that code gets for a tool's result: a string for content that is only text, the parts for other content. Undefined when it is too large. */
export function toValue(result: unknown): Json | undefined {
  const value = isContentResult(result) ? ofContent(result.content as ContentPart[]) : (result as Json);
  return Buffer.byteLength(JSON.stringify(value)) <= MAX_VALUE_BYTES ? value : undefined;
}

function ofContent(content: ContentPart[]): Json {
  return content.every((part) => part.type === 'text') ? content.map(({ text }) => text).join('\n') : content.map((part) => ({ ...part }));
}

/** The answer to code for a call that has its result. */
export function answerOf(call: Pick<ToolCallRow, 'state' | 'content' | 'isError' | 'tool' | 'value'>): MethodAnswer {
  const { state, content = [], isError, tool, value } = call;
  if (state === 'finished' && !isError) {
    if (value !== undefined) return { ok: value };
    return refusedAnswer('TOO_LARGE', `${tool} has run, but its result is larger than the ${MAX_VALUE_BYTES} bytes that are given to code.`);
  }
  return refusedAnswer(CODES[state] ?? 'TOOL_FAILED', resultTextOf(content));
}

/** The answer to code for a call that the storage of the conversation has no room for. */
export function noRoom({ storageLimit = 0 }: Pick<ExecuteToolArgs, 'storageLimit'>): MethodAnswer {
  return refusedAnswer('STORAGE_EXHAUSTED', failure('STORAGE_EXHAUSTED', { limit: Math.round(storageLimit / 2 ** 20) }).message);
}

const CODES: Partial<Record<ToolCallRow['state'], string>> = { denied: 'TOOL_DENIED', interrupted: 'INTERRUPTED', unknown: 'TOOL_OUTCOME_UNKNOWN' };

/** An answer that becomes an exception in the guest's language. */
export function refusedAnswer(code: string, message: string): MethodAnswer {
  // The frame that carries it has a size limit too.
  return { error: { code, message: cutMiddle(message, 20_000) } };
}

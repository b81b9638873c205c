import { ApplicationFailure } from '@temporalio/common';
import { isFailure } from '../contracts/errors.ts';
import { operatorText } from '../contracts/operator-text.ts';
import { redact } from '../tool-calls/results/redact.ts';

/** Most levels of causes that are reported with an error. Together they take less space than the history of a step may. */
const MAX_DEPTH = 4;
const MAX_MESSAGE = 1000;
const MAX_STACK = 2000;

/**
 * The causes of an error, for operators who look at a failed activity in Temporal: classes, messages and stacks, cut to a bounded size and without
 * credentials.
 */
export function causeOf(error: unknown, depth = 1): ApplicationFailure | undefined {
  if (error === undefined || error === null || depth > MAX_DEPTH) return undefined;
  const { name, message, stack, cause } = describe(error);
  const told = new ApplicationFailure(shorten(message, MAX_MESSAGE), shorten(name, 100), undefined, undefined, causeOf(cause, depth + 1));
  told.stack = shorten(stack, MAX_STACK);
  return told;
}

interface Described {
  name: string;
  message: string;
  stack: string;
  cause?: unknown;
}

/** The thrown value may be anything: its getters or its `toString` may throw too. */
function describe(error: unknown): Described {
  try {
    if (!(error instanceof Error) && !isFailure(error)) return { name: typeof error, message: String(error), stack: '' };
    const { name, message, stack, cause } = error;
    // Node tries every address of a host, and then throws an AggregateError without a message.
    const [first] = error instanceof AggregateError ? (error.errors as unknown[]) : [];
    return { name: isFailure(error) ? error.code : textOf(name), message: textOf(message), stack: textOf(stack), cause: cause ?? first };
  } catch {
    return { name: 'Error', message: 'an error that cannot be read', stack: '' };
  }
}

/** A subclass of Error may give its fields other types than the declared ones. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function shorten(text: string, length: number): string {
  return operatorText(text, length, redact);
}

import type { FromGuest } from '../guest-protocol.ts';
import { logTextOf } from './log-text-of.ts';

/** The message about a call that threw; accepts any thrown value. */
export function failureOf(id: number, error: unknown): Extract<FromGuest, { type: 'failed' }> {
  const problems = (error as { values?: { problems?: unknown } } | undefined)?.values?.problems;
  return { type: 'failed', id, message: messageOf(error), ...(typeof problems === 'string' && { problems }) };
}

function messageOf(error: unknown): string {
  try {
    const { name, message } = error as { name?: unknown; message?: unknown };
    if (typeof message === 'string' && message !== '') return message;
    if (typeof name === 'string') return name;
  } catch {
    // The thrown value cannot be read.
  }
  return logTextOf(error);
}

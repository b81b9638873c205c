import type { FromGuest } from '../guest-protocol.ts';
import { MAX_FAILED } from '../guest-protocol.ts';
import { logTextOf } from './log-text-of.ts';

/** The message about a call that threw; accepts any thrown value. Long texts are cut, because the worker ends a process that sends too long a line. */
export function failureOf(id: number, error: unknown): Extract<FromGuest, { type: 'failed' }> {
  const problems = problemsOf(error)?.slice(0, MAX_FAILED);
  return { type: 'failed', id, message: messageOf(error).slice(0, MAX_FAILED), ...(problems !== undefined && { problems }) };
}

function problemsOf(error: unknown): string | undefined {
  try {
    const problems = (error as { values?: { problems?: unknown } } | undefined)?.values?.problems;
    return typeof problems === 'string' ? problems : undefined;
  } catch {
    // The thrown value cannot be read.
    return undefined;
  }
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

import { Context } from '@temporalio/activity';

const HEARTBEAT_MS = 5000;

/** Heartbeats during work that says nothing itself, so that the death of its worker is noticed. */
export async function whileBeating<T>(work: () => Promise<T>): Promise<T> {
  const context = Context.current();
  const beating = setInterval(() => context.heartbeat(), HEARTBEAT_MS);
  try {
    return await work();
  } finally {
    clearInterval(beating);
  }
}

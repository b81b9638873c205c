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

/** Makes an activity heartbeat. Without a heartbeat timeout, which the workflow sets, the heartbeats have no effect. */
export function beating<Args extends unknown[], Result>(activity: (...args: Args) => Promise<Result>): (...args: Args) => Promise<Result> {
  return (...args) => whileBeating(() => activity(...args));
}

import { takeLeftovers } from './leftovers.ts';

/** Stops the servers, and fails the run when tests have left anything behind. */
export default async function globalTeardown(): Promise<void> {
  const stack = globalThis.longshoreTestStack;
  if (!stack) return;
  const leftovers = await takeLeftovers(stack.census);
  await stack.stop();
  if (leftovers.length === 0) return;
  console.error(`\nThe tests have left behind (now removed):\n  ${leftovers.join('\n  ')}`);
  // An error thrown here would cost the report of the tests that did run.
  process.exitCode = 1;
}

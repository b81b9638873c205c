import { stop } from 'esbuild';

/** What all who wait for the bundler's process are told when it has ended; what it says of a source is told otherwise. */
const ENDED = /^The service (?:was stopped|is no longer running)/;
const TOO_DEEP = 'the bundler ended while it read it, which it does when code is nested too deeply';

/** Work of which each piece is done while no other is. */
let alone: Promise<unknown> = Promise.resolve();

/**
 * Does what needs the bundler. All share one process of it, and a source can end that: one that is nested some 100,000 times overflows its stack. So whatever was
 * under way begins again with a fresh process, one piece after the other, and fails only if that ends as well.
 */
export async function withBundler<Result>(work: () => Promise<Result>): Promise<Result> {
  await free();
  try {
    return await work();
  } catch (error) {
    if (!isItsEnd(error)) throw error;
  }
  const again = alone.then(async () => {
    // It does not start anew by itself.
    await stop();
    return work();
  });
  alone = again.catch(async (error: unknown) => void (isItsEnd(error) && (await stop())));
  return again.catch((error: unknown) => {
    throw isItsEnd(error) ? new Error(TOO_DEEP, { cause: error }) : error;
  });
}

async function free(): Promise<void> {
  for (let seen: unknown; seen !== alone;) {
    seen = alone;
    // oxlint-disable-next-line no-await-in-loop -- another piece may have joined the queue meanwhile
    await alone;
  }
}

function isItsEnd(error: unknown): boolean {
  return error instanceof Error && ENDED.test(error.message) && !('errors' in error);
}

import { stop } from 'esbuild';

/** The error of all calls that wait for the bundler's process when this process ends. Errors in a source have another form. */
const ENDED = /^The service (?:was stopped|is no longer running)/;
const TOO_DEEP = 'the bundler ended while it read it, which it does when code is nested too deeply';

/** Queue of retried work. Each piece runs while no other work runs. */
let alone: Promise<unknown> = Promise.resolve();

/**
 * Runs work that needs the bundler. All callers share one process of it, and a source can crash that process: nesting of some 100,000 levels overflows its
 * stack. So work that was running is retried with a new process, one piece after the other, and fails only if that process crashes as well.
 */
export async function withBundler<Result>(work: () => Promise<Result>): Promise<Result> {
  await free();
  try {
    return await work();
  } catch (error) {
    if (!isItsEnd(error)) throw error;
  }
  const again = alone.then(async () => {
    // Without this call, the bundler does not start a new process.
    await stop();
    return work();
  });
  alone = again.catch(async (error: unknown) => void (isItsEnd(error) && (await stop())));
  return again.catch((error: unknown) => {
    throw isItsEnd(error) ? new Error(TOO_DEEP, { cause: error }) : error;
  });
}

/** Whether code has ended the bundler, as it would do again in another form of the bundle. */
export function hasEndedBundler(error: unknown): boolean {
  return error instanceof Error && (error.message === TOO_DEEP || hasEndedBundler(error.cause));
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

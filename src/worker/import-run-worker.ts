import { failure } from '../contracts/errors.ts';

/**
 * Loads the worker only when it is needed: no other part of the package needs `@temporalio/worker`, whose native core is large, and an
 * installation with `npm install --omit=optional` does not have it.
 */
export async function importRunWorker(): Promise<(typeof import('./run-worker.ts'))['runWorker']> {
  try {
    return (await import('./run-worker.ts')).runWorker;
  } catch (error) {
    if (!isMissing(error)) throw error;
    const problem = 'the package @temporalio/worker, an optional dependency of longshore, is not installed';
    throw failure('SETUP_FAILED', { step: 'Starting a worker', problem, fix: 'Install longshore again without --omit=optional' }, error);
  }
}

function isMissing(error: unknown): boolean {
  const { code, message } = error as NodeJS.ErrnoException;
  return code === 'ERR_MODULE_NOT_FOUND' && message.includes('@temporalio/worker');
}

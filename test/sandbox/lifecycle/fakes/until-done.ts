import { isFailure } from '../../../../src/contracts/errors.ts';

/** Of an engine that refuses some of what it is asked, and of a database whose connections are lost. */
export const REFUSED: readonly string[] = ['DOCKER_FAILED', 'SANDBOX_UNREACHABLE', 'POSTGRES_UNAVAILABLE'];

/** Virtual. */
const RETRY_MS = 300;

export const sleep = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Asks until it succeeds, as the attempts at a call do. @param passing codes of further errors after which it is asked again */
export async function untilDone<T>(ask: () => Promise<T>, passing: readonly string[] = []): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!isFailure(error) || ![...REFUSED, ...passing].includes(error.code)) throw error;
    }
    await sleep(RETRY_MS);
  }
}

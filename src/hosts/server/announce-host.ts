import type { Logger } from '../../platform/log.ts';
import type { HostWorker } from '../../store/service/hosts.ts';
import type { Store } from '../../store/store.ts';

const EVERY_MS = 10_000;
/** Some announcements may fail before the worker counts as absent. */
const LEASE_MS = 35_000;

/** Lists the worker in Postgres until it is disposed of. */
export async function announceHost({ hosts, log }: { hosts: Store['hosts']; log: Logger }, worker: HostWorker): Promise<AsyncDisposable> {
  await hosts.announce(worker, LEASE_MS);
  let last: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    last = hosts.announce(worker, LEASE_MS).catch((error: unknown) => log.warn({ err: error }, 'the service may not find this worker'));
  }, EVERY_MS);
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await last;
      await hosts.withdraw(worker.workerId).catch((error: unknown) => log.warn({ err: error }, 'this worker stays listed for a while'));
    },
  };
}

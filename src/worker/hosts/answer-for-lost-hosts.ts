import { ApplicationFailure, type DataConverter } from '@temporalio/common';
import { Worker, type NativeConnection } from '@temporalio/worker';
import { HOST_CUT_OFF, hostQueue } from '../../contracts/hosts/elsewhere.ts';
import type { Config } from '../../platform/config.ts';
import type { Logger } from '../../platform/log.ts';
import { startRounds } from '../../platform/start-rounds.ts';
import type { Sandboxes } from '../../sandbox/api/host-sandboxes.ts';

interface Parts {
  connection: NativeConnection;
  dataConverter: DataConverter;
  config: Pick<Config, 'TEMPORAL_NAMESPACE' | 'LONGSHORE_TASK_QUEUE'>;
  sandboxes: Pick<Sandboxes, 'lostHosts'>;
  log: Logger;
}

const LOOK_EVERY_MS = 5_000;

/**
 * Answers the activities that were sent to hosts that are given up by now: any worker does them, which takes the sandbox over. Without an answer, each of them waits for a
 * worker of its host until its time in the queue is over. It waits anew whenever Temporal gives it to a worker that ended with its machine: as nothing closed the connections
 * of that worker, Temporal still has its requests for work, each for up to a minute.
 */
export function startAnsweringForLostHosts(parts: Parts): { stop(): Promise<void> } {
  const { sandboxes, log } = parts;
  const answering = new Map<string, Answering>();
  const rounds = startRounds({
    everyMs: LOOK_EVERY_MS,
    async work() {
      const lost = new Set(await sandboxes.lostHosts?.());
      for (const [hostId, one] of answering) if (!lost.has(hostId)) one.shutdown();
      for (const hostId of lost) {
        if (answering.has(hostId)) continue;
        const one = await answerFor(parts, hostId);
        answering.set(hostId, one);
        void one.ended.then(() => answering.delete(hostId));
      }
    },
    onFailure: (error) => log.warn({ err: error }, 'what was sent to hosts that are lost could not be answered now'),
  });
  return {
    async stop() {
      await rounds.stop();
      const all = [...answering.values()];
      for (const one of all) one.shutdown();
      await Promise.all(all.map(({ ended }) => ended));
    },
  };
}

interface Answering {
  shutdown(): void;
  /** Never rejects. */
  ended: Promise<void>;
}

async function answerFor({ connection, dataConverter, config, sandboxes, log }: Parts, hostId: string): Promise<Answering> {
  const taskQueue = hostQueue(config.LONGSHORE_TASK_QUEUE, hostId);
  const isLost = async () => (await sandboxes.lostHosts?.())?.includes(hostId) === true;
  const answer = async () => {
    // When the host is back, or may be since this worker does not reach Postgres, its own workers have to get the next ones. The worker that is asked next finds out about this one.
    if (!(await isLost().catch(() => false))) shutdown();
    throw ApplicationFailure.create({ message: `Host "${hostId}" is given up: it has been silent for too long`, type: HOST_CUT_OFF, nonRetryable: true });
  };
  const worker = await Worker.create({
    connection,
    dataConverter,
    namespace: config.TEMPORAL_NAMESPACE,
    taskQueue,
    activities: { default: answer },
    // An answer takes a millisecond or two, and several hosts may be lost.
    maxConcurrentActivityTaskPolls: 1,
    shutdownGraceTime: 0,
    shutdownForceTime: '60s',
  });
  const shutdown = () => {
    if (worker.getState() === 'RUNNING') worker.shutdown();
  };
  log.info({ hostId }, 'a host is lost; its calls are answered here');
  const ended = worker.run().catch((error: unknown) => log.warn({ err: error, hostId }, 'what was sent to a host that is lost is not answered here any more'));
  return { shutdown, ended };
}

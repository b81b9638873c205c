import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import type { BenchWorker } from './bench-worker.ts';
import type { BenchParts } from './parts.ts';

export interface BareWorker extends AsyncDisposable {
  /** Gives the milliseconds from the end of one activity to that of the next. */
  run(steps: number): Promise<number[]>;
  /** Starts a workflow that takes updates. */
  updates(): Promise<BareUpdates>;
}

export interface BareUpdates extends AsyncDisposable {
  workflowId: string;
  /** Sends an update, or has it sent, and gives the milliseconds until the activity that it leads to. */
  once(send?: () => Promise<unknown>): Promise<number>;
  /** Sends an update and waits for the end of its activity; several workflows may do so at the same time. */
  go(): Promise<void>;
}

/** A worker of its own on the same connection. */
export async function startBareWorker({ stack }: BenchParts, { connection }: BenchWorker): Promise<BareWorker> {
  const { TEMPORAL_NAMESPACE: namespace, TEMPORAL_ADDRESS: address } = stack.config;
  const taskQueue = `${stack.config.LONGSHORE_TASK_QUEUE}-bare`;
  const ends: number[] = [];
  let onEnd = () => {};
  const activities = {
    async nothing() {
      ends.push(performance.now());
      onEnd();
    },
  };
  const workflowsPath = fileURLToPath(new URL('bare-workflow.ts', import.meta.url));
  const worker = await Worker.create({ connection, namespace, taskQueue, workflowsPath, activities });
  const running = worker.run();
  const clientConnection = await Connection.connect({ address });
  const client = new Client({ connection: clientConnection, namespace });
  let runs = 0;
  return {
    async run(steps) {
      ends.length = 0;
      await client.workflow.execute('bare', { taskQueue, workflowId: `${taskQueue}-${++runs}`, args: [steps] });
      return gaps(ends);
    },
    async updates() {
      const handle = await client.workflow.start('bareUpdates', { taskQueue, workflowId: `${taskQueue}-${++runs}` });
      return {
        workflowId: handle.workflowId,
        go: () => handle.executeUpdate('goAndWait'),
        async once(send = () => handle.executeUpdate('go')) {
          const ended = new Promise<void>((resolve) => (onEnd = resolve));
          const began = performance.now();
          await send();
          await ended;
          return (ends.at(-1) ?? began) - began;
        },
        async [Symbol.asyncDispose]() {
          await handle.terminate();
        },
      };
    },
    async [Symbol.asyncDispose]() {
      worker.shutdown();
      await running;
      await clientConnection.close();
    },
  };
}

export function gaps(times: number[]): number[] {
  return times.slice(1).map((time, index) => time - (times[index] ?? time));
}

import type { NativeConnection } from '@temporalio/worker';
import { z } from 'zod';
import { read, textSchema } from '../common/arguments.ts';
import type { Config } from '../platform/config.ts';
import type { ActivityDependencies } from '../tool-calls/dependencies.ts';

export interface WorkerOptions extends Omit<ActivityDependencies, 'startConversation'> {
  config: Pick<Config, 'TEMPORAL_ADDRESS' | 'TEMPORAL_NAMESPACE' | 'LONGSHORE_TASK_QUEUE' | 'LONGSHORE_HOME' | 'LONGSHORE_AGENTS'> &
    Partial<Pick<Config, 'LONGSHORE_RETENTION_DAYS'>>;
  /** When absent, created from the config, and closed with the worker. */
  connection?: NativeConnection;
}

const text = textSchema(2_000, { oneLine: true });
const config = z.looseObject({
  TEMPORAL_ADDRESS: text,
  TEMPORAL_NAMESPACE: text,
  LONGSHORE_TASK_QUEUE: text,
  LONGSHORE_HOME: text,
  LONGSHORE_AGENTS: text,
  LONGSHORE_RETENTION_DAYS: z.number().min(0, 'give a number of days from 0').optional(),
});
const options = z.strictObject({
  config,
  connection: having(['close'], 'Make it with NativeConnection.connect of @temporalio/worker, or leave it out').optional(),
  store: having([], 'Make it with openStore'),
  sandboxes: having(['open', 'destroy', 'reap'], 'Make them with createSandboxes'),
  registry: having(['get', 'forAgent'], 'Give the registry of the plugins'),
  agents: having(['get', 'keys'], 'Give a Map of agents by their ids'),
  models: having(['get'], 'Make them with createModels'),
  services: having([], 'Make them with createPluginServices'),
  log: having(['info', 'warn', 'error'], 'Give a pino logger'),
  metrics: having([], 'Leave it out, or make it with createWorkerMetrics').optional(),
});

/** Checks the options of a worker before anything is opened: the caller may be plain JavaScript. */
export function checkWorkerOptions(given: WorkerOptions): void {
  read('options of createWorker', options, given);
}

/** A part of the worker, recognised by the functions that it must have. */
function having(functions: string[], fix: string) {
  return z.custom((part) => isPart(part, functions), {
    error: `it has to be an object${functions.length > 0 ? ` with ${functions.join(', ')}` : ''}`,
    params: { fix },
  });
}

function isPart(part: unknown, functions: string[]): boolean {
  return typeof part === 'object' && part !== null && functions.every((name) => typeof (part as Record<string, unknown>)[name] === 'function');
}

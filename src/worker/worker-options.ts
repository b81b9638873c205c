import { duration } from '../common/duration.ts';
import type { NativeConnection } from '@temporalio/worker';
import { z } from 'zod';
import { read, textSchema } from '../common/arguments.ts';
import type { PricedModels } from '../models/create-models.ts';
import type { Config } from '../platform/config.ts';
import { isHostAndPort } from '../common/host-and-port.ts';
import { readLimits } from '../platform/read-limits.ts';
import type { Tracing } from '../traces/tracing.ts';
import type { WebhookSettings } from '../webhooks/webhook-terms.ts';
import type { ActivityDependencies } from '../tool-calls/dependencies.ts';

type OptionalSetting =
  | 'LONGSHORE_WORKER_VERSION'
  | 'LONGSHORE_PINNED_TURNS'
  | 'LONGSHORE_CACHED_CONVERSATIONS'
  | 'LONGSHORE_RETENTION_DAYS'
  | 'LONGSHORE_RETENTION'
  | 'LONGSHORE_LIMITS'
  | 'LONGSHORE_MAX_RUNNING_TURNS'
  | 'LONGSHORE_ENCRYPTION_KEYS'
  | 'LONGSHORE_PUBLIC_URL'
  | 'LONGSHORE_TEMPORAL_LINKS'
  | 'LONGSHORE_HOST_ADDRESS'
  | 'LONGSHORE_HOST_ID';

export interface WorkerOptions extends Omit<ActivityDependencies, 'startConversation' | 'subAgents' | 'questions' | 'forks' | 'places' | 'service'> {
  config: Pick<Config, 'TEMPORAL_ADDRESS' | 'TEMPORAL_NAMESPACE' | 'LONGSHORE_TASK_QUEUE' | 'LONGSHORE_HOME' | 'LONGSHORE_AGENTS'> &
    Partial<Pick<Config, OptionalSetting>> &
    WebhookSettings;
  models: PricedModels;
  /** When absent, created from the config, and closed with the worker. */
  connection?: NativeConnection;
  /** Receives the spans of activities; absent when nothing is traced. */
  tracing?: Tracing | undefined;
}

const text = textSchema(2_000, { oneLine: true });
const config = z.looseObject({
  TEMPORAL_ADDRESS: text,
  TEMPORAL_NAMESPACE: text,
  LONGSHORE_TASK_QUEUE: text,
  LONGSHORE_HOME: text,
  LONGSHORE_AGENTS: text,
  LONGSHORE_WORKER_VERSION: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, 'use up to 100 letters, digits, ".", "_" and "-"')
    .optional(),
  LONGSHORE_PINNED_TURNS: z.enum(['yes', 'no']).optional(),
  LONGSHORE_CACHED_CONVERSATIONS: z.number().int().min(2, 'give a number of conversations from 2').optional(),
  LONGSHORE_RETENTION_DAYS: z.number().min(0, 'give a number of days from 0').optional(),
  LONGSHORE_RETENTION: z
    .union([z.literal('0'), z.string().refine((text) => (duration.safeParse(text).data ?? 0) > 0, 'give a duration such as 365d')])
    .optional(),
  LONGSHORE_LIMITS: z
    .string()
    .refine((text) => readLimits(text) !== undefined, 'write names of limits with numbers, such as runningTurns=20')
    .optional(),
  LONGSHORE_MAX_RUNNING_TURNS: z.number().int().min(1, 'give a number of turns from 1').optional(),
  LONGSHORE_ENCRYPTION_KEYS: z.string().optional(),
  LONGSHORE_PUBLIC_URL: z
    .string()
    .refine((text) => URL.canParse(text), 'write https://host')
    .optional(),
  LONGSHORE_TEMPORAL_LINKS: z.enum(['yes', 'no']).optional(),
  LONGSHORE_HOST_ADDRESS: z.string().refine(isHostAndPort, 'write host:port, such as 127.0.0.1:0').optional(),
  LONGSHORE_HOST_ID: text.optional(),
});
const options = z.strictObject({
  config,
  connection: having(['close'], 'Make it with NativeConnection.connect of @temporalio/worker, or leave it out').optional(),
  store: having([], 'Make it with openStore'),
  sandboxes: having(['open', 'destroy', 'reap'], 'Make them with createSandboxes'),
  registry: having(['get', 'forAgent'], 'Give the registry of the plugins'),
  agents: having(['get', 'keys'], 'Give a Map of agents by their ids'),
  skills: having(['of'], 'Leave it out').optional(),
  models: having(['get'], 'Make them with createModels'),
  services: having([], 'Make them with createPluginServices'),
  log: having(['info', 'warn', 'error'], 'Give a pino logger'),
  tracing: having(['record'], 'Leave it out').optional(),
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

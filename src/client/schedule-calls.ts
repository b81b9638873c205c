import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  type Client,
  type ScheduleDescription,
  type ScheduleExecutionResult,
  type ScheduleHandle,
} from '@temporalio/client';
import type { AuditAction, AuditSource } from '../contracts/audit.ts';
import { failure, isFailure } from '../contracts/errors.ts';
import { SCHEDULED_WORKFLOW } from '../contracts/schedule.ts';
import type { Store } from '../store/store.ts';
import { nameOf, scheduleNote, scheduleOptions } from './client-arguments.ts';
import { isOurs, makeSchedule, readSchedule } from './make-schedule.ts';
import { runOf } from './schedule-runs.ts';
import type { Schedule, ScheduleRun, Schedules } from './types/schedule-types.ts';
import { sealNote } from './temporal/sealed-note.ts';
import type { StartParts } from './start-conversation.ts';
import { isUnread, temporalFailure } from './temporal/temporal-failures.ts';
import { triggerOnce } from './temporal/trigger-once.ts';

/** Number of schedules that are described at the same time. */
const AT_ONCE = 8;
const TRIGGER_DEADLINE_MS = 10_000;
const POLL_MS = 50;
/** Temporal treats an empty note as no note, and then does not pause the schedule. */
const BY_HAND = 'by an operator';

/** A row of the audit log, without whose it is. */
type Change = { action: AuditAction } & Record<string, string>;

interface ScheduleParts extends StartParts {
  store: StartParts['store'] & Pick<Store, 'conversations' | 'events' | 'audit'>;
  /** Names the request that makes the calls: another attempt of it makes no second run. */
  once?: string;
}

/** Schedules of this installation. Temporal stores all of them. */
export function createScheduleCalls(parts: ScheduleParts, by: AuditSource): Schedules {
  const { store, temporal, taskQueue, once } = parts;
  const asked = <T>(scheduleId: string, call: (client: Client) => Promise<T>) => translated(temporal, scheduleId, call);
  const describe = async (client: Client, scheduleId: string) => {
    const described = await read(client.schedule.getHandle(scheduleId));
    if (isOurs(described, taskQueue)) return described;
    throw failure('SCHEDULE_NOT_FOUND', { scheduleId });
  };
  /** Calls `work` with the handle of a schedule that exists and belongs to this installation. */
  const withHandle = async (given: string, change: Change, work: (handle: ReturnType<Client['schedule']['getHandle']>) => Promise<void>) => {
    const id = nameOf('schedule id', given);
    await asked(id, async (client) => {
      await note(readSchedule(await describe(client, id), temporal.keys), change);
      await work(client.schedule.getHandle(id));
    });
  };
  /** Written before the call, so that nothing can take effect without a row. */
  const note = ({ id, tenant }: Pick<Schedule, 'id' | 'tenant'>, { action, ...details }: Change) =>
    store.audit.add({ ...by, action, target: id, tenantId: tenant, details });

  return {
    create: async (given) => {
      const options = scheduleOptions(given);
      const noteIt = (tenant: string) => note({ id: options.id, tenant }, { action: 'schedule.create', agent: options.agent });
      return asked(options.id, (client) => makeSchedule(parts, client, options, noteIt));
    },
    list: () =>
      asked('', async (client) => {
        const ids: string[] = [];
        for await (const { scheduleId, action } of client.schedule.list()) if (action?.workflowType === SCHEDULED_WORKFLOW) ids.push(scheduleId);
        return describeAll(ids.toSorted(), async (id) => readSchedule(await describe(client, id), temporal.keys));
      }),
    get: async (given) => {
      const id = nameOf('schedule id', given);
      return asked(id, async (client) => {
        const described = await describe(client, id);
        const actions = described.info.recentActions.toReversed();
        const runs = await Promise.all(actions.map((action) => runOf({ client, store }, id, action)));
        return { ...readSchedule(described, temporal.keys), runs };
      });
    },
    pause: async (id, options) => {
      const { note } = scheduleNote(options);
      return withHandle(id, { action: 'schedule.change', change: 'pause' }, (handle) => handle.pause(sealNote(temporal.keys, note || BY_HAND)));
    },
    resume: (id) => withHandle(id, { action: 'schedule.change', change: 'resume' }, (handle) => handle.unpause(BY_HAND)),
    trigger: async (given) => {
      const id = nameOf('schedule id', given);
      return asked(id, async (client) => {
        const described = await describe(client, id);
        const known = described.info.recentActions.map(runIdOf);
        await note(readSchedule(described, temporal.keys), { action: 'schedule.trigger' });
        await triggerOnce(client, id, once ?? randomUUID());
        const newest = async () => (await describe(client, id)).info.recentActions.at(-1);
        return awaitRun({ newest, known, read: (action) => runOf({ client, store }, id, action) }, id);
      });
    },
    delete: (id) => withHandle(id, { action: 'schedule.remove' }, (handle) => handle.delete()),
  };
}

/** Runs a call to Temporal and translates its failures into errors of the error table. */
async function translated<T>(temporal: StartParts['temporal'], scheduleId: string, call: (client: Client) => Promise<T>): Promise<T> {
  try {
    return await call(await temporal.client());
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) throw failure('SCHEDULE_NOT_FOUND', { scheduleId }, error);
    if (error instanceof ScheduleAlreadyRunning) throw failure('SCHEDULE_EXISTS', { scheduleId }, error);
    if (isFailure(error)) throw error;
    throw await temporalFailure(error, { address: temporal.address, conversationId: '', whyMissing: async () => 'unknown' });
  }
}

/** One that is deleted in this moment cannot be read, and is not found when it is asked for again. */
async function read(handle: ScheduleHandle): Promise<ScheduleDescription> {
  try {
    return await handle.describe();
  } catch (error) {
    if (isUnread(error)) return handle.describe();
    throw error;
  }
}

/** Skips schedules of other installations, and schedules that are deleted while this runs. */
async function describeAll(ids: string[], describe: (id: string) => Promise<Schedule>): Promise<Schedule[]> {
  const found: Schedule[] = [];
  const waiting = ids.values();
  const work = async () => {
    for (const id of waiting) {
      try {
        found.push(await describe(id));
      } catch (error) {
        if (!isFailure(error, 'SCHEDULE_NOT_FOUND') && !(error instanceof ScheduleNotFoundError)) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return found.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

interface Awaited {
  newest: () => Promise<ScheduleExecutionResult | undefined>;
  /** Ids of the runs that existed before the trigger. */
  known: string[];
  read: (action: ScheduleExecutionResult) => Promise<ScheduleRun>;
}

/** Waits for the run that was triggered, and for its conversation to start. If Temporal merged it with a run of the same second, returns that run. */
async function awaitRun({ newest, known, read }: Awaited, scheduleId: string): Promise<ScheduleRun> {
  const deadline = Date.now() + TRIGGER_DEADLINE_MS;
  const inTime = () => Date.now() < deadline;
  let action = await newest();
  while (inTime() && (action === undefined || known.includes(runIdOf(action)))) {
    await sleep(POLL_MS);
    action = await newest();
  }
  if (action === undefined) throw failure('SCHEDULE_NOT_RUN', { scheduleId });
  let run = await read(action);
  while (inTime() && run.outcome === 'waiting') {
    await sleep(POLL_MS);
    run = await read(action);
  }
  return run;
}

function runIdOf({ action }: ScheduleExecutionResult): string {
  return action.workflow.firstExecutionRunId;
}

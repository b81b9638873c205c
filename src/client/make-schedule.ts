import {
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  type Client,
  type ScheduleDescription,
  type ScheduleHandle,
  type ScheduleSpec,
} from '@temporalio/client';
import { stableJson } from '../common/stable-json.ts';
import { failure, isFailure } from '../contracts/errors.ts';
import { isObject } from '../contracts/json.ts';
import { summaryLine } from '../contracts/markdown.ts';
import { MAX_SCHEDULED_MESSAGE_LENGTH, SCHEDULED_WORKFLOW, type ScheduledConversation } from '../contracts/schedule.ts';
import type { EncryptionKeys } from '../platform/encryption-keys.ts';
import { checkMessageText } from './check-message.ts';
import { atLeastAMinute, checkIsAhead, scheduleSpecOf, timingOf, timingOfNew } from './schedule-timing.ts';
import type { CreateScheduleOptions, Schedule } from './types/schedule-types.ts';
import { findAgent, type StartParts } from './start-conversation.ts';
import { openNote } from './temporal/sealed-note.ts';

const ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/**
 * Creates the schedule. First checks what would otherwise fail only in a run, when no person watches; then calls `noteIt` with its tenant. Who repeats a call
 * whose answer was lost is given the schedule that it has made.
 */
export async function makeSchedule(
  { agents, taskQueue, temporal }: Omit<StartParts, 'store'>,
  client: Client,
  options: CreateScheduleOptions,
  noteIt: (tenant: string) => Promise<void>,
): Promise<Schedule> {
  const { id } = options;
  if (!ID.test(id)) throw bad('schedule id', `"${id}" cannot be used`, 'Write 1 to 64 letters, digits, ".", "_" and "-", beginning with a letter or digit');
  const input = inputOf(options);
  await findAgent(agents, input.agent);
  const definition = definitionOf(options, input);
  const handle = client.schedule.getHandle(id);
  const madeBefore = () => readIfSame(handle, definition, { taskQueue, keys: temporal.keys });
  try {
    checkIsAhead(definition.timing, Date.now());
  } catch (error) {
    // It may have come since the schedule was made.
    const made = await madeBefore();
    if (made) return made;
    throw error;
  }
  await noteIt(input.tenant);
  try {
    await create(client, definition, taskQueue);
  } catch (error) {
    if (error instanceof TypeError) throw bad('timing', error.message, 'Correct the times, or the time zone');
    const made = error instanceof ScheduleAlreadyRunning ? await madeBefore() : undefined;
    if (!made) throw error;
    return withTimes(made, handle);
  }
  return withTimes(readSchedule(await handle.describe(), temporal.keys), handle);
}

/** All that two schedules have to have in common to be the same. */
interface Definition {
  id: string;
  input: ScheduledConversation;
  spec: ScheduleSpec;
  /** Of `spec`. */
  timing: Schedule['timing'];
  catchUpMs: number;
  maxRuns: number | undefined;
}

function definitionOf(options: CreateScheduleOptions, input: ScheduledConversation): Definition {
  const { id, catchUp = '1d', maxRuns } = options;
  const spec = scheduleSpecOf(options);
  return { id, input, spec, timing: timingOfNew(spec), catchUpMs: atLeastAMinute('catchUp', catchUp), maxRuns };
}

async function create(client: Client, { id, input, spec, catchUpMs, maxRuns }: Definition, taskQueue: string): Promise<void> {
  await client.schedule.create({
    scheduleId: id,
    spec,
    action: {
      type: 'startWorkflow',
      workflowType: SCHEDULED_WORKFLOW,
      workflowId: `schedule-${id}`,
      taskQueue,
      args: [input],
      staticSummary: summaryLine(`${input.agent} for ${input.user}`),
      // A run waits for an absent worker as long as for an absent Temporal server.
      workflowExecutionTimeout: catchUpMs,
    },
    // A run only starts a conversation. It never has to wait for the previous run, and no run is skipped because of another.
    policies: { overlap: 'ALLOW_ALL', catchupWindow: catchUpMs },
    // Each run makes `remainingActions` smaller, so that it does not say what was asked for.
    ...(maxRuns !== undefined && { state: { remainingActions: maxRuns }, memo: { maxRuns } }),
  });
}

/** The schedule that has the id, if it has the same definition now. Undefined for any other, also one whose input was encrypted with a key of others. */
async function readIfSame(handle: ScheduleHandle, { input, timing, catchUpMs, maxRuns }: Definition, ours: Ours): Promise<Schedule | undefined> {
  try {
    const described = await handle.describe();
    if (!isOurs(described, ours.taskQueue) || described.memo?.['maxRuns'] !== maxRuns) return undefined;
    const made = readSchedule(described, ours.keys);
    const { agent, user, tenant, message, keepOpen } = made;
    const now = { input: { agent, user, tenant, message, keepOpen }, timing: made.timing, catchUpMs: made.catchUpMs };
    return stableJson(now) === stableJson({ input: { ...input }, timing, catchUpMs }) ? made : undefined;
  } catch (error) {
    if (error instanceof ScheduleNotFoundError || isFailure(error)) return undefined;
    throw error;
  }
}

interface Ours {
  taskQueue: string;
  keys: EncryptionKeys;
}

/** Whether a schedule of Temporal belongs to this installation. */
export function isOurs({ action }: ScheduleDescription, taskQueue: string): boolean {
  return action.workflowType === SCHEDULED_WORKFLOW && action.taskQueue === taskQueue;
}

/** Removes a schedule that has no times. One that has made all of its runs has none left. */
async function withTimes(made: Schedule, handle: ScheduleHandle): Promise<Schedule> {
  if (made.timing.kind !== 'cron' || made.nextAt.length > 0 || made.runsLeft === 0) return made;
  await handle.delete();
  throw bad('cron', `"${made.timing.cron}" never comes`, 'Note that day of the month and day of the week both have to match');
}

function inputOf({ agent, user, tenant = 'default', message, keepOpen = false }: CreateScheduleOptions): ScheduledConversation {
  checkScheduledMessage(message);
  return { agent, user, tenant, message, keepOpen };
}

/** @throws MESSAGE_INVALID */
export function checkScheduledMessage(message: unknown): asserts message is string {
  checkMessageText(message);
  if (message.length > MAX_SCHEDULED_MESSAGE_LENGTH) {
    const problem = `it has ${message.length} characters, and ${MAX_SCHEDULED_MESSAGE_LENGTH} are allowed in a schedule`;
    throw failure('MESSAGE_INVALID', { problem, fix: "Put the rest into the agent's instructions, or into a file that it can read" });
  }
}

/** Describes a schedule as Temporal stores it now, including changes that were made in Temporal. */
export function readSchedule({ scheduleId, action, spec, policies, state, info }: ScheduleDescription, keys: EncryptionKeys): Schedule {
  const given = action.args?.[0];
  const input = isObject(given) ? given : {};
  const textOf = (name: keyof ScheduledConversation) => (typeof input[name] === 'string' ? input[name] : '');
  return {
    id: scheduleId,
    agent: textOf('agent'),
    user: textOf('user'),
    tenant: textOf('tenant') || 'default',
    message: textOf('message'),
    keepOpen: input['keepOpen'] === true,
    timing: timingOf(spec),
    catchUpMs: policies.catchupWindow,
    paused: state.paused,
    ...(state.paused && state.note && { note: openNote(keys, state.note) }),
    ...(state.remainingActions !== undefined && { runsLeft: state.remainingActions }),
    missedRuns: info.numActionsMissedCatchupWindow,
    nextAt: info.nextActionTimes.map((time) => time.toISOString()),
    createdAt: info.createdAt.toISOString(),
  };
}

function bad(what: string, problem: string, fix: string) {
  return failure('INVALID_ARGUMENT', { what, problem, fix });
}

import type { Client, ScheduleDescription } from '@temporalio/client';
import { failure } from '../contracts/errors.ts';
import { isObject } from '../contracts/json.ts';
import { summaryLine } from '../contracts/markdown.ts';
import { MAX_SCHEDULED_MESSAGE_LENGTH, SCHEDULED_WORKFLOW, type ScheduledConversation } from '../contracts/schedule.ts';
import type { EncryptionKeys } from '../platform/encryption-keys.ts';
import { checkMessageText } from './check-message.ts';
import { atLeastAMinute, scheduleSpecOf, timingOf } from './schedule-timing.ts';
import type { CreateScheduleOptions, Schedule } from './types/schedule-types.ts';
import { findAgent, type StartParts } from './start-conversation.ts';
import { openNote } from './temporal/sealed-note.ts';

const ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** Creates the schedule. First checks what would otherwise fail only in a run, when no person watches; then calls `noteIt` with its tenant. */
export async function makeSchedule(
  { agents, taskQueue, temporal }: Omit<StartParts, 'store'>,
  client: Client,
  options: CreateScheduleOptions,
  noteIt: (tenant: string) => Promise<void>,
) {
  const { id, catchUp = '1d', maxRuns } = options;
  if (!ID.test(id)) throw bad('schedule id', `"${id}" cannot be used`, 'Write 1 to 64 letters, digits, ".", "_" and "-", beginning with a letter or digit');
  const input = inputOf(options);
  await findAgent(agents, input.agent);
  const spec = scheduleSpecOf(options, Date.now());
  const catchUpMs = atLeastAMinute('catchUp', catchUp);
  await noteIt(input.tenant);
  const create = client.schedule.create({
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
    state: { ...(maxRuns !== undefined && { remainingActions: maxRuns }) },
  });
  const handle = await create.catch((error: unknown) => {
    throw error instanceof TypeError ? bad('timing', error.message, 'Correct the times, or the time zone') : error;
  });
  const made = readSchedule(await handle.describe(), temporal.keys);
  if (made.timing.kind !== 'cron' || made.nextAt.length > 0) return made;
  await handle.delete();
  throw bad('cron', `"${made.timing.cron}" never comes`, 'Note that day of the month and day of the week both have to match');
}

function inputOf({ agent, user, tenant = 'default', message, keepOpen = false }: CreateScheduleOptions): ScheduledConversation {
  checkMessageText(message);
  if (message.length > MAX_SCHEDULED_MESSAGE_LENGTH) {
    const problem = `it has ${message.length} characters, and ${MAX_SCHEDULED_MESSAGE_LENGTH} are allowed in a schedule`;
    throw failure('MESSAGE_INVALID', { problem, fix: "Put the rest into the agent's instructions, or into a file that it can read" });
  }
  return { agent, user, tenant, message, keepOpen };
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

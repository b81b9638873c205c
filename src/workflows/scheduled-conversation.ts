import { workflowInfo } from '@temporalio/workflow';
import { isObject } from '../contracts/json.ts';
import { MAX_SCHEDULED_MESSAGE_LENGTH, type ScheduledBy, type ScheduledConversation, type StartScheduledResult } from '../contracts/schedule.ts';
import { startScheduled } from './activities.ts';
import { MAX_ID_LENGTH, refusedUpdate } from './messages/validate-updates.ts';

/** One run of a schedule: starts its conversation and ends. The conversation is a workflow of its own, unknown to the schedule. */
export async function scheduledConversation(input: unknown): Promise<StartScheduledResult> {
  const scheduledBy = whoAsked();
  return startScheduled({ ...checkInput(input), scheduledBy });
}

/** Temporal stores with every run which schedule started it and when it was due. */
function whoAsked(): ScheduledBy {
  const { TemporalScheduledById: ids, TemporalScheduledStartTime: times } = workflowInfo().searchAttributes;
  const [scheduleId, due] = [ids?.[0], times?.[0]];
  if (typeof scheduleId === 'string' && due instanceof Date) return { scheduleId, at: due.toISOString() };
  throw refusedUpdate('INVALID_ARGUMENT', {
    what: 'scheduledConversation',
    problem: 'no schedule has started it',
    fix: 'Start conversations with: longshore run',
  });
}

/** The input may have been edited in the Temporal UI. */
function checkInput(input: unknown): ScheduledConversation {
  const { agent, user, tenant = 'default', message, keepOpen } = isObject(input) ? input : {};
  return {
    agent: checkText('agent', agent, MAX_ID_LENGTH),
    user: checkText('user', user, MAX_ID_LENGTH),
    tenant: checkText('tenant', tenant, MAX_ID_LENGTH),
    message: checkText('message', message, MAX_SCHEDULED_MESSAGE_LENGTH),
    keepOpen: keepOpen === true,
  };
}

function checkText(name: keyof ScheduledConversation, value: unknown, limit: number): string {
  if (typeof value === 'string' && value.trim() !== '' && value.length <= limit) return value;
  const problem = `"${name}" is no text of 1 to ${limit} characters`;
  throw refusedUpdate('INVALID_ARGUMENT', { what: 'input of the schedule', problem, fix: 'Correct it in the Temporal UI, or make the schedule again' });
}

import { nameOfClientTool } from '../../contracts/client-tool.ts';
import type { Json } from '../../contracts/json.ts';
import type { ExecuteToolArgs, ExecuteToolResult } from '../../contracts/activities.ts';
import type { RegisteredTool } from '../../plugins/registry/registry.ts';
import type { NewEvent, Store } from '../../store/store.ts';
import { shownArguments } from '../results/shown-arguments.ts';
import type { ToolRun } from './tool-run.ts';
import type { RunOutcome } from './tool-run-outcome.ts';

const SECOND = 1000;

/**
 * Runs a call of a tool that a client runs: makes it known to clients, and is suspended until one has given a result, or until it waits no longer. The row of the
 * call decides which of both comes first, so that repeated attempts have the effect of one.
 */
export async function runClientTool(run: ToolRun): Promise<RunOutcome> {
  const { args, tool, store } = run;
  const { callId } = args;
  const { timeoutMs = 0, output } = tool.client ?? {};
  const call = await store.clientCalls.open({ callId, name: nameOfClientTool(tool.id), output, timeoutMs });
  if (!call) return { outcome: 'unknown', why: 'its row in the database is gone' };
  if (call.state === 'answered') return answered(call);
  if (call.state === 'ended' || (await store.clientCalls.expire(callId))) return overdue(run, call.claims);
  // A client may have answered since the row was read.
  const { state, leftMs, deadline, ...now } = (await store.clientCalls.get(args.conversationId, callId)) ?? call;
  if (state === 'answered') return answered(now);
  await store.events.append(args.conversationId, [waitingEvent(run, deadline)]);
  return { outcome: 'suspended', calls: [], client: { ...(leftMs !== undefined && { leftMs: Math.max(0, Math.ceil(leftMs)) }) } };
}

function answered({ result, isError }: { result?: Json; isError: boolean }): RunOutcome {
  if (!isError) return { outcome: 'returned', result };
  return { outcome: 'failed', text: typeof result === 'string' ? result : JSON.stringify(result) };
}

function waitingEvent({ args: { callId, tool, turnId, stepId }, claim }: ToolRun, deadline: Date | undefined): NewEvent {
  const { arguments: given, parentCallId } = claim.call;
  const isTold = 'arguments' in shownArguments(given);
  const where = { ...(deadline && { deadline: deadline.toISOString() }), ...(parentCallId !== undefined && { parentCallId }) };
  const data = { callId, tool, ...where, ...(!isTold && { arguments: given }) };
  return { type: 'tool.waiting', turnId, stepId, data, key: `tool.waiting/${callId}` };
}

/** What is known is told: a client that had the call may have done a part of it. */
function overdue({ tool }: ToolRun, claims: number): RunOutcome {
  const limit = limitOf(tool);
  const text =
    claims === 0
      ? `No client that has ${tool.id} was there within ${limit}; it was not run. Go on without it.`
      : `A client took this call and gave no result within ${limit}; it is not known what of it was done. Go on without it.`;
  return { outcome: 'failed', text };
}

function limitOf({ client }: Pick<RegisteredTool, 'client'>): string {
  return `${Math.round((client?.timeoutMs ?? 0) / SECOND)} s`;
}

interface Ended {
  store: Pick<Store, 'clientCalls'>;
  args: Pick<ExecuteToolArgs, 'conversationId' | 'callId'>;
  tool: RegisteredTool | undefined;
}

/** When a call of a client has its result, its row is not needed any more. Adds what the workflow has to know of it. */
export async function endClientCall({ store: { clientCalls }, args, tool }: Ended, end: ExecuteToolResult): Promise<ExecuteToolResult> {
  if (!tool?.client || end.outcome !== 'finished') return end;
  await clientCalls.forget(args.callId);
  const call = await clientCalls.get(args.conversationId, args.callId);
  if (!call || call.digest || tool.client.otherwise !== 'fail') return end;
  return { ...end, failsTurn: `${tool.id} had no result within ${limitOf(tool)}, and the agent's file says that the turn fails then.` };
}

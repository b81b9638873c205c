import type { ExecuteToolArgs, SettleCallArgs } from '../../contracts/activities.ts';
import { isClientTool } from '../../contracts/client-tool.ts';
import { cutMiddle } from '../../contracts/visible-text.ts';
import type { NewEvent, Store } from '../../store/store.ts';
import type { ToolCallRow, ToolCallState } from '../../store/tool-call-rows.ts';

const STATES = {
  denied: 'denied',
  expired: 'denied',
  interrupted: 'interrupted',
  unknown: 'unknown',
  failed: 'failed',
  answered: 'finished',
} as const satisfies Record<SettleCallArgs['settlement'], ToolCallState>;

const ENDED_WITH_CODE = 'Interrupted: the code that made this call ended before the call had a result.';

const HAD_BEGUN = 'An earlier attempt at the call had begun, and how far it came is not known. Check the current state before you repeat it.';

const ENDED_OUTSIDE = 'The workflow of the conversation was ended from outside';

/** Characters of a client's result that are told of a call that was interrupted. */
const MOST_ANSWERED = 4_000;

/** `openMethods`: calls of the call's code that the workflow owns, which settles them itself. */
type OfWorkflow = Pick<ExecuteToolArgs, 'openMethods'>;
type Place = Pick<ToolCallRow, 'conversationId' | 'turnId' | 'stepId' | 'callId'>;

/** Settles a call that is not run, or not any more, and the calls that its code has left; a call that has a result keeps it. */
export function createSettleCall({ store }: { store: Store }) {
  return async function settleCall({ callId, tool, turnId, stepId, ...given }: SettleCallArgs & OfWorkflow): Promise<void> {
    await settleCallsOfCode(store, { callId, turnId, stepId, ...given });
    const { settlement, message: told } = given.runsOnce ? await unlessBegun(store, callId, given) : given;
    const message = isClientTool(tool) ? await withAnswer(store, callId, told) : told;
    const isError = settlement !== 'answered';
    const event: NewEvent =
      settlement === 'unknown'
        ? { type: 'tool.unknown', turnId, stepId, data: { callId, tool, why: message } }
        : { type: 'tool.finished', turnId, stepId, data: { callId, tool, isError, text: message, durationMs: 0 } };
    await store.toolCalls.settle(callId, undefined, { state: STATES[settlement], content: [{ type: 'text', text: message }], isError }, [event]);
    if (isClientTool(tool)) await store.clientCalls.forget(callId);
  };
}

/**
 * Settles the calls that have no result although the code that made them has ended: those that ran within an attempt whose worker died, and those that the workflow
 * was never told of.
 */
export async function settleCallsOfCode(store: Store, { openMethods = [], callId, ...place }: Place & OfWorkflow): Promise<void> {
  const open = await store.toolCalls.openOfCode({ callId, ...place });
  for (const call of open.filter((one) => !openMethods.includes(one.callId))) {
    const message = call.state === 'proposed' ? 'What asked for this call has ended; it was not run.' : ENDED_WITH_CODE;
    await createSettleCall({ store })({ ...place, callId: call.callId, tool: call.tool, settlement: 'interrupted', message });
  }
}

/** Settles the calls of a conversation whose workflow was ended from outside, and can settle nothing any more. */
export async function settleCallsOf(store: Store, conversationId: string): Promise<void> {
  for (const { state, ...call } of await store.toolCalls.openOf(conversationId)) {
    const wasRun = state === 'running';
    const message = wasRun ? `${ENDED_OUTSIDE}; it is not known whether this call took effect.` : `${ENDED_OUTSIDE} before this call; it was not run.`;
    await createSettleCall({ store })({ ...call, conversationId, settlement: wasRun ? 'unknown' : 'interrupted', message });
  }
}

/** All attempts at the call have failed. The last ones may not have learned that an earlier one, whose worker died, had begun. */
async function unlessBegun({ toolCalls }: Store, callId: string, { settlement, message }: Pick<SettleCallArgs, 'settlement' | 'message'>) {
  const isBegun = settlement === 'failed' && (await toolCalls.get(callId))?.state === 'running';
  return isBegun ? { settlement: 'unknown' as const, message: `${message}\n${HAD_BEGUN}` } : { settlement, message };
}

/** From now on, no client can answer the call. A client that has done so before was told that its result counts: the model gets to know it. */
async function withAnswer({ clientCalls }: Store, callId: string, message: string): Promise<string> {
  const { claims = 0, answer } = (await clientCalls.end(callId)) ?? {};
  if (answer) return `The turn was ended just when a client had run this call. Its result: ${cutMiddle(JSON.stringify(answer.result), MOST_ANSWERED)}`;
  return claims === 0 ? message : `${message} A client had taken it; it is not known what of it was done.`;
}

/** Settles a call that was interrupted before it could run. */
export async function settleInterrupted(store: Store, call: Place & Pick<ToolCallRow, 'tool'>): Promise<void> {
  const message = 'Interrupted before it started; nothing was run.';
  await createSettleCall({ store })({ ...call, settlement: 'interrupted', message });
}

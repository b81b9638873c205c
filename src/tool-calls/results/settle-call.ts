import type { SettleCallArgs } from '../../contracts/activities.ts';
import type { NewEvent, Store } from '../../store/store.ts';
import type { ToolCallRow, ToolCallState } from '../../store/tool-call-rows.ts';

const STATES = { denied: 'denied', expired: 'denied', interrupted: 'interrupted', unknown: 'unknown', failed: 'failed' } as const satisfies Record<
  SettleCallArgs['settlement'],
  ToolCallState
>;

/** Settles a call that will not run; a call that has a result keeps it. */
export function createSettleCall({ store }: { store: Store }) {
  return async function settleCall({ callId, tool, turnId, stepId, settlement, message }: SettleCallArgs): Promise<void> {
    const event: NewEvent =
      settlement === 'unknown'
        ? { type: 'tool.unknown', turnId, stepId, data: { callId, tool, why: message } }
        : { type: 'tool.finished', turnId, stepId, data: { callId, tool, isError: true, text: message, durationMs: 0 } };
    await store.toolCalls.settle(callId, undefined, { state: STATES[settlement], content: [{ type: 'text', text: message }], isError: true }, [event]);
  };
}

/** Settles a call that was interrupted before it could run. */
export async function settleInterrupted(store: Store, call: Pick<ToolCallRow, 'conversationId' | 'turnId' | 'stepId' | 'callId' | 'tool'>): Promise<void> {
  const message = 'Interrupted before it started; nothing was run.';
  await createSettleCall({ store })({ ...call, settlement: 'interrupted', message });
}

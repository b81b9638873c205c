import type { ApprovalEventArgs } from '../contracts/activities.ts';
import type { NewEvent, Store } from '../store/store.ts';
import { onceEach } from '../tool-calls/results/once-each.ts';

/** Records in the events that a person is asked, and what the answer was. */
export function createRecordApproval({ store }: { store: Store }) {
  return async function recordApproval(args: ApprovalEventArgs): Promise<void> {
    await store.events.append(args.conversationId, onceEach([await toEvent(args)]));
  };

  async function toEvent({ turnId, callId, tool, hash, event }: ApprovalEventArgs): Promise<NewEvent> {
    const call = await store.toolCalls.get(callId);
    if (event.type === 'resolved') {
      const { answer, by, reason } = event;
      const runsWith = answer === 'allow' || answer === 'allow-once' ? call?.arguments : undefined;
      const data = { callId, tool, answer, hash, ...(runsWith && { arguments: runsWith }), ...(by && { by }), ...(reason && { reason }) };
      return { type: 'tool.approval-resolved', turnId, data };
    }
    const { why, expiresAtMs } = event;
    return { type: 'tool.approval-requested', turnId, data: { callId, tool, hash, why, arguments: call?.arguments ?? {}, expiresAtMs } };
  }
}

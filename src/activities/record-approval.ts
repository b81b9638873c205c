import type { ApprovalEventArgs, ApprovalEventResult } from '../contracts/activities.ts';
import type { NewEvent } from '../store/store.ts';
import type { ActivityDependencies } from '../tool-calls/dependencies.ts';
import { onceEach } from '../tool-calls/results/once-each.ts';

/** Records in the events that a person is asked, and what the answer was; each answer is in the audit log before it takes effect. */
export function createRecordApproval({ store, service }: Pick<ActivityDependencies, 'store' | 'service'>) {
  return async function recordApproval(args: ApprovalEventArgs): Promise<ApprovalEventResult> {
    await audit(args);
    await store.events.append(args.conversationId, onceEach([await toEvent(args)]));
    const link = args.event.type === 'requested' ? await service?.toApproval?.({ ...args, expiresAtMs: args.event.expiresAtMs }) : undefined;
    return link ? { link } : {};
  };

  async function audit({ conversationId, callId, tool, event }: ApprovalEventArgs): Promise<void> {
    if (event.type !== 'resolved') return;
    const { answer, by } = event;
    await store.audit.addResolved(conversationId, callId, { conversationId, tool, answer, ...(by !== undefined && { by }) });
  }

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

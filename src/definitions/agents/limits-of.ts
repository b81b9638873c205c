import type { Agent, AgentLimits } from '../../contracts/agent.ts';
import { freezeAfter, restAfter } from '../../contracts/limits/rest-times.ts';

/** The limits that the workflow needs from an agent; they do not change after a conversation starts. */
export function limitsOf({ budget, sandbox, checkpoints, approvalTimeoutMs, approvalExpiry, judge }: Agent): AgentLimits {
  return {
    budget,
    freezeAfterMs: freezeAfter(sandbox),
    hibernateAfterMs: restAfter(sandbox, sandbox.hibernateAfterMs ?? 0),
    stopAfterMs: restAfter(sandbox, sandbox.stopAfterMs ?? 0),
    archiveAfterMs: restAfter(sandbox, sandbox.archiveAfterMs ?? 0),
    onClose: sandbox.onClose ?? 'destroy',
    ...(sandbox.persist === false && { persist: false }),
    ...(sandbox.backup !== undefined && { backup: true as const }),
    ...(checkpoints && sandbox.persist !== false && { checkpoints }),
    approvalTimeoutMs,
    ...(approvalExpiry !== 'deny' && { approvalExpiry }),
    ...(judge && { judge: { handovers: judge.handovers } }),
  };
}

import type { Agent, AgentLimits, SandboxOptions } from '../../contracts/agent.ts';

/** The limits that the workflow needs from an agent; they do not change after a conversation starts. */
export function limitsOf({ budget, sandbox, checkpoints, approvalTimeoutMs, approvalExpiry, judge }: Agent): AgentLimits {
  return {
    budget,
    freezeAfterMs: restAfter(sandbox, sandbox.freezeAfterMs ?? 30_000),
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

function restAfter({ keepalive = 0 }: SandboxOptions, idleMs: number): number {
  return keepalive === true || idleMs === 0 ? 0 : keepalive + idleMs;
}

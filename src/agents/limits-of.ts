import type { Agent, AgentLimits } from '../contracts/agent.ts';

/** What the workflow needs to know of an agent; it is fixed when a conversation starts. */
export function limitsOf({ budget, sandbox, approvalTimeoutMs }: Agent): AgentLimits {
  return {
    budget,
    freezeAfterMs: sandbox.freezeAfterMs ?? 30_000,
    hibernateAfterMs: sandbox.hibernateAfterMs ?? 0,
    stopAfterMs: sandbox.stopAfterMs ?? 0,
    archiveAfterMs: sandbox.archiveAfterMs ?? 0,
    onClose: sandbox.onClose ?? 'destroy',
    approvalTimeoutMs,
  };
}

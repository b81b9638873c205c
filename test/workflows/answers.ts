import { Context } from '@temporalio/activity';
import type { CallModelArgs, CallModelResult, ProposedCall } from '../../src/contracts/activities.ts';

export type Answer = (args: CallModelArgs) => CallModelResult | Promise<CallModelResult>;

let calls = 0;
/** A tool call of a scripted model. */
export function toolCall(more: Partial<ProposedCall> = {}): ProposedCall {
  const callId = `call_${++calls}`;
  return {
    callId,
    tool: 'shell:run',
    arguments: { command: 'true' },
    hash: `hash-${callId}`,
    decision: 'allow',
    why: 'allowed by the test',
    kind: 'tool',
    readOnly: false,
    needsSandbox: true,
    timeoutMs: 60_000,
    retry: 'attach',
    summary: 'true',
    ...more,
  };
}
/** A model's answer that asks for calls, or for none. */
export function asks(...proposed: ProposedCall[]): Answer {
  return () => ({ outcome: 'answered', calls: proposed, usage: { inputTokens: 10, outputTokens: 5 }, spoke: true });
}

/** A model call that ends when it is cancelled. */
export const untilCancelled: Answer = async () => {
  const context = Context.current();
  await until(
    async () => {
      context.heartbeat();
      return context.cancellationSignal.aborted;
    },
    () => 'the model call was not cancelled',
  );
  return await context.cancelled;
};

/** A command in the world's sandbox; it continues with or without a follower, until the test or a kill ends it. */
export class Command {
  state: 'running' | 'ended' | 'killed' = 'running';
  attaches = 0;
}

/** Waits for a condition, up to half a minute. */
export async function until(condition: () => Promise<boolean>, problem: () => string): Promise<void> {
  const deadline = Date.now() + 180_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`Timed out: ${problem()}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

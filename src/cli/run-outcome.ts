import type { Usage } from '../contracts/conversation.ts';
import type { ConversationEvent } from '../contracts/events.ts';

/** The last line of `run --wait --json`. */
export interface RunOutcome {
  type: 'outcome';
  outcome: 'finished' | 'failed' | 'awaiting-approval' | 'paused' | 'closed';
  conversationId: string;
  turnId?: string;
  reply: string;
  /** Why, when the turn did not finish by itself. */
  message?: string;
  usage: Usage;
  toolCalls: ToolCallOutcome[];
}

export interface ToolCallOutcome {
  callId: string;
  tool: string;
  state: 'requested' | 'finished' | 'failed' | 'unknown';
}

/** Gathers from the events of a turn how it ended. */
export function createRunOutcome(conversationId: string) {
  const usage: Usage = { inputTokens: 0, outputTokens: 0 };
  const calls = new Map<string, ToolCallOutcome>();
  let turnId: string | undefined;
  let ended: RunOutcome['outcome'] = 'closed';
  let message: string | undefined;
  const end = (outcome: RunOutcome['outcome'], why?: unknown) => {
    ended = outcome;
    if (typeof why === 'string') message = why;
    return true;
  };
  return {
    /** True when the turn has come to an end, or to a stop that only a person can end. */
    add(event: ConversationEvent): boolean {
      turnId ??= event.turnId;
      const { data } = event;
      noteCall(calls, event);
      switch (event.type) {
        case 'step.finished':
          addUsage(usage, data['usage'] as Partial<Usage> | undefined);
          return false;
        case 'turn.finished':
          return end(data['outcome'] === 'finished' ? 'finished' : 'failed', data['message']);
        case 'tool.approval-requested':
          return end('awaiting-approval', data['why']);
        case 'conversation.paused':
          return end('paused', data['note']);
        case 'conversation.closed':
          return end('closed');
        default:
          return false;
      }
    },
    turnId: () => turnId,
    get(reply: string): RunOutcome {
      return {
        type: 'outcome',
        outcome: ended,
        conversationId,
        ...(turnId !== undefined && { turnId }),
        reply,
        ...(message !== undefined && { message }),
        usage,
        toolCalls: [...calls.values()],
      };
    },
  };
}

function noteCall(calls: Map<string, ToolCallOutcome>, { type, data }: ConversationEvent): void {
  const callId = data['callId'];
  if (typeof callId !== 'string') return;
  const tool = typeof data['tool'] === 'string' ? data['tool'] : '';
  const call = calls.get(callId) ?? { callId, tool, state: 'requested' };
  if (type === 'tool.finished') call.state = data['isError'] === true ? 'failed' : 'finished';
  if (type === 'tool.unknown') call.state = 'unknown';
  calls.set(callId, call);
}

function addUsage(sum: Usage, usage: Partial<Usage> | undefined): void {
  sum.inputTokens += usage?.inputTokens ?? 0;
  sum.outputTokens += usage?.outputTokens ?? 0;
}

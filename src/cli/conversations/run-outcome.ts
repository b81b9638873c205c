import type { ConversationEvent, EventData } from '../../contracts/events.ts';
import { outputIn } from '../../client/end-of-turn.ts';
import type { Json } from '../../contracts/json.ts';
import type { CutOff } from '../../contracts/transcript.ts';
import { addUsage, type Usage } from '../../contracts/usage.ts';

/** The last line of `run --wait --json`. */
export interface OutcomeLine {
  type: 'outcome';
  outcome: 'finished' | 'failed' | 'awaiting-approval' | 'paused' | 'closed';
  conversationId: string;
  turnId?: string;
  reply: string;
  /** The last answer of the model is not whole. */
  cutOff?: CutOff;
  /** The answer as a value, when it had to fit a schema. */
  output?: Json;
  /** The reason, when the turn did not finish normally. */
  message?: string;
  usage: Usage;
  toolCalls: ToolCallOutcome[];
}

export interface ToolCallOutcome {
  callId: string;
  tool: string;
  state: 'requested' | 'finished' | 'failed' | 'unknown';
}

/** Collects from the events of a turn how it ended. */
export function createRunOutcome(conversationId: string) {
  let usage: Usage = { inputTokens: 0, outputTokens: 0 };
  const calls = new Map<string, ToolCallOutcome>();
  let turnId: string | undefined;
  let ended: OutcomeLine['outcome'] = 'closed';
  let message: string | undefined;
  let cutOff: CutOff | undefined;
  let finished: Pick<EventData['turn.finished'], 'output' | 'outputCharacters'> = {};
  const end = (outcome: OutcomeLine['outcome'], why?: string) => {
    ended = outcome;
    message = why;
    return true;
  };
  return {
    /** True when the turn has ended, or has stopped in a way that only a person can end. */
    add(event: ConversationEvent): boolean {
      turnId ??= event.turnId;
      noteCall(calls, event);
      switch (event.type) {
        case 'step.finished':
          usage = addUsage(usage, event.data.usage);
          cutOff = event.data.cutOff;
          return false;
        case 'turn.finished':
          finished = event.data;
          return end(event.data.outcome === 'finished' ? 'finished' : 'failed', event.data.message);
        case 'tool.approval-requested':
          return end('awaiting-approval', event.data.why);
        case 'conversation.paused':
          return end('paused', event.data.note);
        case 'conversation.closed':
          return end('closed');
        default:
          return false;
      }
    },
    turnId: () => turnId,
    get(reply: string): OutcomeLine {
      return {
        type: 'outcome',
        outcome: ended,
        conversationId,
        ...(turnId !== undefined && { turnId }),
        reply,
        ...(cutOff && { cutOff }),
        ...outputIn(finished, reply),
        ...(message !== undefined && { message }),
        usage,
        toolCalls: [...calls.values()],
      };
    },
  };
}

function noteCall(calls: Map<string, ToolCallOutcome>, { type, data }: ConversationEvent): void {
  if (type === 'tool.requested') calls.set(data.callId, { callId: data.callId, tool: data.tool, state: 'requested' });
  if (type !== 'tool.finished' && type !== 'tool.unknown') return;
  const state = type === 'tool.unknown' ? 'unknown' : data.isError ? 'failed' : 'finished';
  calls.set(data.callId, { callId: data.callId, tool: data.tool, state });
}

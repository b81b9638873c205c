import type { ConversationEvent } from '../../contracts/events.ts';
import { EXIT } from '../output/cli.ts';

export interface AskedApproval {
  callId: string;
  hash: string;
  tool: string;
}

export interface ChatState {
  inputEnded: boolean;
  follow(event: ConversationEvent): void;
  /** The input that the person is asked for now; `nothing` while the agent works. */
  wanted(): 'message' | 'approval' | 'paused' | 'nothing';
  nextApproval(): AskedApproval | undefined;
  /** Treats an approval as answered before its event arrives. */
  forget(callId: string): void;
  /** The answer was not taken: the approval is open again, unless its event has arrived. */
  askAgain(callId: string): void;
  /** Records the turn that a message of this session belongs to. */
  sent(turnId: string): void;
  /** The exit code once no more input comes; undefined while an answer may still come. */
  codeAtEndOfInput(terminal: boolean): number | undefined;
}

/** The state of a conversation for a chat. It is derived only from events, so that joining late gives the same state. */
export function createChatState(): ChatState {
  const approvals = new Map<string, AskedApproval>();
  const answered = new Set<string>();
  const ended = new Set<string>();
  const awaited = new Set<string>();
  let runningTurn: string | undefined;
  let isPaused = false;

  const state: ChatState = {
    inputEnded: false,
    follow({ type, turnId = '', data }) {
      if (type === 'turn.started') runningTurn = turnId;
      if (type === 'turn.finished') {
        runningTurn = undefined;
        ended.add(turnId);
        awaited.delete(turnId);
      }
      if (type === 'tool.approval-requested') approvals.set(data.callId, { callId: data.callId, hash: data.hash, tool: data.tool });
      if (type === 'tool.approval-resolved') approvals.delete(data.callId);
      if (type === 'conversation.paused') isPaused = true;
      if (type === 'conversation.resumed') isPaused = false;
    },
    wanted() {
      if (state.nextApproval()) return 'approval';
      if (isPaused) return 'paused';
      return runningTurn === undefined && awaited.size === 0 ? 'message' : 'nothing';
    },
    nextApproval: () => [...approvals.values()].find(({ callId }) => !answered.has(callId)),
    forget: (callId) => void answered.add(callId),
    askAgain: (callId) => void answered.delete(callId),
    sent(turnId) {
      if (!ended.has(turnId)) awaited.add(turnId);
    },
    codeAtEndOfInput(terminal) {
      if (!state.inputEnded) return undefined;
      if (terminal) return EXIT.done;
      const wanted = state.wanted();
      if (wanted === 'nothing') return undefined;
      return { message: EXIT.done, approval: EXIT.awaitingApproval, paused: EXIT.paused }[wanted];
    },
  };
  return state;
}

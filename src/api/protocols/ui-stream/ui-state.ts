import type { UIMessageChunk } from 'ai';
import { beginTurn, type TurnState } from '../turn/turn-state.ts';

/** What the message of a turn has so far. */
export interface UiState {
  turn: TurnState;
  /** The text or reasoning that is being written. */
  open?: { kind: 'text' | 'reasoning'; id: string } | undefined;
  /** Texts so far: each has an id of its own. */
  texts: number;
  /** Steps of the message so far. One of the model's steps has several when calls must wait for others, see `announceAsked`. */
  steps: number;
  /** Those that have no result yet. */
  calls: Readonly<Record<string, UiCall>>;
}

export interface UiCall {
  tool: string;
  input: unknown;
  parentCallId?: string;
  /** The step of the message that shows the call; absent before it is shown. */
  step?: number;
  isWaiting?: boolean;
  isDenied?: boolean;
  /** The end of its output so far. */
  output: string;
  /** Bytes of each stream that `output` has taken in. */
  told: { stdout: number; stderr: number };
}

/** The state after an event, and what the reader is sent for it. */
export type Mapped = [UiState, UIMessageChunk[]];

/** `turnId` undefined: the first turn that starts. `answered`: calls whose approval the reader has just answered; `given`: those whose results it has given. */
export function beginMessage(conversationId: string, turnId: string | undefined, answered?: readonly string[], given?: readonly string[]): UiState {
  return { turn: beginTurn(conversationId, turnId, answered, given), texts: 0, steps: 0, calls: {} };
}

/** The part that gives a message its id. */
export function startPart(conversationId: string, turnId: string): UIMessageChunk {
  return { type: 'start', messageId: turnId, messageMetadata: { conversationId, turnId } };
}

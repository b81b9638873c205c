import type { PauseReason, TurnOutcome } from '../../../contracts/conversation.ts';
import type { ConversationEvent, EventOf, EventType } from '../../../contracts/events.ts';

/** What a reader of one turn has to know of the log so far. */
export interface TurnState {
  conversationId: string;
  /** Undefined until it is known: then it is the first turn that starts. */
  turnId: string | undefined;
  phase: 'before' | 'running' | 'ended';
  /** How the turn ended; undefined when the conversation was closed without an end of the turn. */
  outcome?: TurnOutcome;
  /** Number of the last event. */
  seq: number;
  stepId?: string;
  /** Attempt of the step's model call. */
  attempt: number;
  /** Calls that a person will be asked about: the event with the question is still to come. */
  asking: readonly string[];
  /** Calls that wait for a person; before the turn starts, those of a turn before it. */
  waiting: readonly WaitingCall[];
  /** Calls whose answer has been accepted, though the log may not have it yet. */
  answered: readonly string[];
  paused?: PauseReason['by'] | undefined;
}

export interface WaitingCall {
  callId: string;
  tool: string;
  why: string;
}

export function beginTurn(conversationId: string, turnId: string | undefined, answered: readonly string[] = []): TurnState {
  return { conversationId, turnId, phase: 'before', seq: 0, attempt: 0, asking: [], waiting: [], answered };
}

/** The state after an event, and whether the event is one of the turn: those of earlier attempts of a step and of other turns are not. */
export function followTurn(before: TurnState, event: ConversationEvent): { state: TurnState; isOurs: boolean } {
  const state = { ...before, seq: event.seq };
  if (state.phase === 'ended') return { state, isOurs: false };
  if (state.phase === 'before') return { state: waitForStart(state, event), isOurs: false };
  const isOurs = (event.turnId === undefined || event.turnId === state.turnId) && !isOutdated(state, event);
  return { state: isOurs ? advance(state, event) : state, isOurs };
}

/** Why nothing more comes until somebody acts; undefined while something may come. To be asked at the end of the log only. */
export function restOf({ phase, waiting, answered, asking, paused }: TurnState): 'awaiting-approval' | 'paused' | undefined {
  if (phase === 'ended') return undefined;
  // All questions of a step come at once, one event each.
  if (asking.length === 0 && waiting.some(({ callId }) => !answered.includes(callId))) return 'awaiting-approval';
  return paused === undefined ? undefined : 'paused';
}

/** Before the turn starts, what keeps it from starting counts. */
function waitForStart(state: TurnState, event: ConversationEvent): TurnState {
  const { type, turnId } = event;
  if (type === 'turn.started' && (state.turnId ?? turnId) === turnId && turnId !== undefined)
    return { ...state, turnId, phase: 'running', asking: [], waiting: [] };
  if (type === 'turn.finished') {
    if (state.turnId !== undefined && turnId === state.turnId) return { ...state, phase: 'ended', outcome: event.data.outcome };
    return { ...state, asking: [], waiting: [] };
  }
  return advanceCommon(state, event);
}

/** A worker that was thought dead may still write about an attempt after another has begun the next one. */
function isOutdated({ stepId, attempt }: TurnState, event: ConversationEvent): boolean {
  return event.attempt !== undefined && event.stepId === stepId && event.attempt < attempt;
}

function advance(state: TurnState, event: ConversationEvent): TurnState {
  switch (event.type) {
    case 'step.started':
      return { ...state, attempt: event.data.attempt, ...(event.stepId !== undefined && { stepId: event.stepId }) };
    case 'turn.finished':
      return { ...state, phase: 'ended', outcome: event.data.outcome };
    default:
      return advanceCommon(state, event);
  }
}

type Advance = { [Type in EventType]?: (state: TurnState, data: EventOf<Type>['data']) => TurnState };

const ADVANCE: Advance = {
  'conversation.closed': (state) => ({ ...state, phase: 'ended' }),
  'conversation.paused': (state, { by }) => ({ ...state, paused: by }),
  'conversation.resumed': (state) => ({ ...state, paused: undefined }),
  'tool.requested': (state, { callId, decision }) => (decision === 'ask' ? { ...state, asking: [...state.asking, callId] } : state),
  'tool.approval-requested': (state, { callId, tool, why }) => ({ ...without(state, callId), waiting: [...state.waiting, { callId, tool, why }] }),
  'tool.approval-resolved': (state, { callId }) => without(state, callId),
  'tool.started': (state, { callId }) => without(state, callId),
  'tool.finished': (state, { callId }) => without(state, callId),
  'tool.unknown': (state, { callId }) => without(state, callId),
};

function advanceCommon(state: TurnState, event: ConversationEvent): TurnState {
  const next = ADVANCE[event.type] as ((state: TurnState, data: ConversationEvent['data']) => TurnState) | undefined;
  return next ? next(state, event.data) : state;
}

/** The call neither waits nor will be asked about. */
function without(state: TurnState, wanted: string): TurnState {
  return { ...state, asking: state.asking.filter((callId) => callId !== wanted), waiting: state.waiting.filter(({ callId }) => callId !== wanted) };
}

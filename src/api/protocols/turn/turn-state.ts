import { isClientTool, nameOfClientTool } from '../../../contracts/client-tool.ts';
import type { PauseReason, TurnOutcome } from '../../../contracts/conversation.ts';
import type { ConversationEvent, EventOf, EventType } from '../../../contracts/events.ts';
import type { JsonObject } from '../../../contracts/json.ts';
import type { CutOff } from '../../../contracts/transcript.ts';

/** What a reader of one turn has to know of the log so far. */
export interface TurnState {
  conversationId: string;
  /** Undefined until it is known: then it is the first turn that starts. */
  turnId: string | undefined;
  phase: 'before' | 'running' | 'ended';
  /** How the turn ended; undefined when the conversation was closed without an end of the turn. */
  outcome?: TurnOutcome;
  /** The newest answer of the model is not whole. */
  cutOff?: CutOff | undefined;
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
  /** Calls whose results the reader has given, though the log may not have them yet. */
  given: readonly string[];
  paused?: PauseReason['by'] | undefined;
  /** Calls that have begun, and wait for nobody. */
  busy: readonly string[];
  /** Arguments of calls that clients run, and that have no result. */
  inputs: Readonly<Record<string, JsonObject>>;
  /** Calls that wait for a client; before the turn starts, those of a turn before it. */
  forClient: readonly ClientWait[];
}

export interface ClientWait {
  callId: string;
  /** Name of the tool, as clients know it. */
  name: string;
  input: JsonObject;
  parentCallId?: string;
}

export interface WaitingCall {
  callId: string;
  tool: string;
  why: string;
}

const NO_CALLS = { busy: [], inputs: {}, forClient: [] };

export function beginTurn(conversationId: string, turnId: string | undefined, answered: readonly string[] = [], given: readonly string[] = []): TurnState {
  return { conversationId, turnId, phase: 'before', seq: 0, attempt: 0, asking: [], waiting: [], answered, given, ...NO_CALLS };
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
export function restOf(state: TurnState): 'awaiting-approval' | 'awaiting-client' | 'paused' | undefined {
  const { phase, waiting, answered, asking, paused } = state;
  if (phase === 'ended') return undefined;
  // All questions of a step come at once, one event each.
  if (asking.length === 0 && waiting.some(({ callId }) => !answered.includes(callId))) return 'awaiting-approval';
  if (openForClient(state).length > 0 && isIdleOtherwise(state)) return 'awaiting-client';
  return paused === undefined ? undefined : 'paused';
}

/** Calls that wait for a client, and whose results the reader has not given. */
export function openForClient({ forClient, given }: TurnState): ClientWait[] {
  return forClient.filter(({ callId }) => !given.includes(callId));
}

/** Nothing works but code that waits for such calls. */
function isIdleOtherwise({ busy, forClient }: TurnState): boolean {
  return busy.every((callId) => forClient.some(({ parentCallId }) => parentCallId === callId));
}

/** Before the turn starts, what keeps it from starting counts. */
function waitForStart(state: TurnState, event: ConversationEvent): TurnState {
  const { type, turnId } = event;
  if (type === 'turn.started' && (state.turnId ?? turnId) === turnId && turnId !== undefined)
    return { ...state, turnId, phase: 'running', asking: [], waiting: [], ...NO_CALLS };
  if (type === 'turn.finished') {
    if (state.turnId !== undefined && turnId === state.turnId) return { ...state, phase: 'ended', outcome: event.data.outcome };
    return { ...state, asking: [], waiting: [], ...NO_CALLS };
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
      return { ...state, attempt: event.data.attempt, cutOff: undefined, ...(event.stepId !== undefined && { stepId: event.stepId }) };
    case 'step.finished':
      return { ...state, cutOff: event.data.cutOff };
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
  'tool.requested': (state, { callId, tool, decision, arguments: input }) => {
    const known = isClientTool(tool) && input ? withInput(state, callId, input) : state;
    return decision === 'ask' ? { ...known, asking: [...known.asking, callId] } : known;
  },
  'tool.approval-requested': (state, { callId, tool, why }) => ({ ...without(state, callId), waiting: [...state.waiting, { callId, tool, why }] }),
  'tool.approval-resolved': (state, { callId, tool, arguments: input }) => {
    const next = without(state, callId);
    return isClientTool(tool) && input ? withInput(next, callId, input) : next;
  },
  'tool.started': (state, { callId }) => {
    const next = without(state, callId);
    return { ...next, busy: [...next.busy, callId] };
  },
  'tool.waiting': (state, { callId, tool, arguments: input = state.inputs[callId] ?? {}, parentCallId }) => {
    const next = without(state, callId);
    const call = { callId, name: nameOfClientTool(tool), input, ...(parentCallId !== undefined && { parentCallId }) };
    return { ...next, forClient: [...next.forClient, call] };
  },
  'tool.finished': (state, { callId }) => ended(state, callId),
  'tool.unknown': (state, { callId }) => ended(state, callId),
};

function advanceCommon(state: TurnState, event: ConversationEvent): TurnState {
  const next = ADVANCE[event.type] as ((state: TurnState, data: ConversationEvent['data']) => TurnState) | undefined;
  return next ? next(state, event.data) : state;
}

/** The call neither waits nor will be asked about, and does not work. */
function without(state: TurnState, wanted: string): TurnState {
  const isOther = ({ callId }: { callId: string }) => callId !== wanted;
  return {
    ...state,
    asking: state.asking.filter((callId) => callId !== wanted),
    waiting: state.waiting.filter(isOther),
    busy: state.busy.filter((callId) => callId !== wanted),
    forClient: state.forClient.filter(isOther),
  };
}

/** The call has its result. */
function ended(state: TurnState, wanted: string): TurnState {
  const { [wanted]: _, ...inputs } = state.inputs;
  return { ...without(state, wanted), inputs };
}

function withInput(state: TurnState, callId: string, input: JsonObject): TurnState {
  return { ...state, inputs: { ...state.inputs, [callId]: input } };
}

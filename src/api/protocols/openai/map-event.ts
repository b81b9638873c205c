import { nameOfMedia } from '../../../contracts/attachments/media.ts';
import type { ConversationEvent } from '../../../contracts/events.ts';
import type { ContentPart } from '../../../contracts/transcript.ts';
import type { JsonObject } from '../../../contracts/json.ts';
import { addUsage, type Usage } from '../../../contracts/usage.ts';
import { visibleLine } from '../../../contracts/visible-text.ts';
import { beginTurn, followTurn, openForClient, restOf, type TurnState } from '../turn/turn-state.ts';

/** What the answer of a turn has so far. */
export interface CompletionState {
  turn: TurnState;
  usage: Usage;
  hasText: boolean;
  /** The next text begins a paragraph of its own. */
  isApart: boolean;
  /** Calls that the client has answered, and that do not wait yet at this place of the log: until then, it has read everything. */
  unread: readonly string[];
}

/** A piece of an answer in the format of chat completions. */
export type CompletionPart =
  | { kind: 'text' | 'reasoning'; text: string }
  /** Calls of tools that the client is to run. */
  | { kind: 'calls'; calls: { id: string; name: string; arguments: JsonObject }[] }
  | { kind: 'finish'; reason: 'stop' | 'length' | 'tool_calls' | 'content_filter'; usage: Usage }
  | { kind: 'error'; text: string };

/** The state after an event, and what the reader is sent for it. */
export type Mapped = [CompletionState, CompletionPart[]];

/** A text that was sent cannot be taken back. */
const AGAIN = '(The answer was cut off, and begins again.)';

/** `answered`: calls whose results the client has given. It has read what came before they waited. */
export function beginCompletion(conversationId: string, turnId: string, answered: readonly string[] = []): CompletionState {
  return { turn: beginTurn(conversationId, turnId, [], answered), usage: NO_USAGE, hasText: false, isApart: false, unread: answered };
}

const NO_USAGE: Usage = { inputTokens: 0, outputTokens: 0 };

/** Maps the events of one turn to the answer of one request. Calls of tools are the service's own affair: the answer has the texts between them. */
export function mapEvent(before: CompletionState, event: ConversationEvent): Mapped {
  const { state: turn, isOurs } = followTurn(before.turn, event);
  const state = { ...before, turn };
  if (before.turn.phase === 'ended') return [state, []];
  if (before.unread.length > 0 && turn.phase !== 'ended') return [skip(state, event), []];
  const [next, parts] = isOurs ? mapOurs(state, event, before.turn) : [state, []];
  return turn.phase === 'ended' ? [next, [...parts, ...ending(next, event)]] : [next, parts];
}

/** The client has read this: only what follows it is new. */
function skip(state: CompletionState, event: ConversationEvent): CompletionState {
  return event.type === 'tool.waiting' ? { ...state, unread: state.unread.filter((callId) => callId !== event.data.callId) } : state;
}

/** What ends an answer whose turn cannot go on until somebody acts; undefined while it may. To be asked at the end of the log only. */
export function mapRest(state: CompletionState): CompletionPart[] | undefined {
  const rest = restOf(state.turn);
  if (rest === undefined) return undefined;
  if (rest === 'awaiting-client' && state.turn.phase !== 'before') return callsOf(state);
  const [{ usage }, text] = writeApart(state, textOfRest(rest, state.turn));
  return [...text, { kind: 'finish', reason: state.turn.paused === 'budget' ? 'length' : 'stop', usage }];
}

function callsOf({ turn, usage }: CompletionState): CompletionPart[] {
  const calls = openForClient(turn).map(({ callId: id, name, input }) => ({ id, name, arguments: input }));
  return [
    { kind: 'calls', calls },
    { kind: 'finish', reason: 'tool_calls', usage },
  ];
}

function textOfRest(rest: NonNullable<ReturnType<typeof restOf>>, turn: TurnState): string {
  if (rest === 'paused') return pauseText(turn);
  return rest === 'awaiting-approval' ? approvalText(turn) : `An earlier answer waits for the results of: ${turn.forClient.map(({ name }) => name).join(', ')}`;
}

function mapOurs(state: CompletionState, event: ConversationEvent, before: TurnState): Mapped {
  switch (event.type) {
    case 'step.started':
      if (event.stepId === before.stepId && state.hasText && !state.isApart) return writeApart(state, AGAIN);
      return [{ ...state, isApart: true }, []];
    case 'text.delta':
      return write(state, event.data.text);
    case 'reasoning.delta':
      return [state, [{ kind: 'reasoning', text: event.data.text }]];
    case 'message.sent':
      return writeApart(state, shown(event.data.part));
    case 'step.finished':
      return [{ ...state, usage: addUsage(state.usage, event.data.usage) }, []];
    default:
      return [state, []];
  }
}

function write(state: CompletionState, text: string): Mapped {
  const isApart = state.hasText && state.isApart;
  return [{ ...state, hasText: true, isApart: false }, [{ kind: 'text', text: isApart ? `\n\n${text}` : text }]];
}

/** Writes a paragraph of its own. */
function writeApart(state: CompletionState, text: string): Mapped {
  const [written, parts] = write({ ...state, isApart: true }, text);
  return [{ ...written, isApart: true }, parts];
}

const CUT_OFF = { length: 'length', 'content-filter': 'content_filter' } as const;

function ending({ turn: { outcome, turnId, conversationId, cutOff }, usage }: CompletionState, event: ConversationEvent): CompletionPart[] {
  if (outcome !== 'failed') return [{ kind: 'finish', reason: cutOff ? CUT_OFF[cutOff] : 'stop', usage }];
  // Why it failed is written for operators, and may name files and addresses.
  return [
    { kind: 'error', text: `The agent could not finish its answer (${turnId ?? event.type}). An operator reads why with: longshore show ${conversationId}` },
  ];
}

function approvalText({ conversationId, waiting, answered }: TurnState): string {
  const open = waiting.filter(({ callId }) => !answered.includes(callId));
  const calls = open.map(({ callId, tool, why }) => {
    const answer = `longshore approve ${conversationId} ${callId} allow-once, or POST /v1/approvals/${callId}`;
    return `- ${visibleLine(tool)} (${visibleLine(why)}): ${answer}`;
  });
  return [
    'The agent waits for a person to approve:',
    ...calls,
    `It goes on when each is answered. What it says then is not in this answer; read it with: longshore show ${conversationId}`,
  ].join('\n');
}

/** Files do not fit into an answer. */
function shown(part: ContentPart): string {
  return part.type === 'text' ? part.text : visibleLine(nameOfMedia(part));
}

function pauseText({ conversationId, paused }: TurnState): string {
  const why = paused === 'budget' ? ', since its budget is used up' : '';
  return `The conversation is paused${why}. It goes on with: longshore resume ${conversationId}`;
}

import type { UIMessageChunk } from 'ai';
import { urlOfMedia } from './media-url.ts';
import type { ConversationEvent, EventOf, EventType } from '../../../contracts/events.ts';
import type { CutOff } from '../../../contracts/transcript.ts';
import { followTurn, restOf, type TurnState } from '../turn/turn-state.ts';
import { announceAsked, deny, finishCall, goOn, loseCall, offerCalls, requestCall, showOutput, startCall } from './map-calls.ts';
import { closeText, nextStep, writeText } from './map-text.ts';
import { startPart, type Mapped, type UiState } from './ui-state.ts';

/** Maps the events of one turn to the parts of one message, as version 6 of the AI SDK knows them. */
export function mapEvent(before: UiState, event: ConversationEvent): Mapped {
  const { state: turn, isOurs } = followTurn(before.turn, event);
  const state = { ...before, turn };
  if (before.turn.phase === 'before') return enter(state, before.turn);
  if (before.turn.phase === 'ended' || !isOurs) return [state, []];
  const [next, parts] = mapOurs(state, event, before.turn);
  return turn.phase === 'ended' ? end(next, parts, event) : [next, parts];
}

/** What ends a stream whose turn cannot go on until somebody acts; undefined while it may. To be asked at the end of the log only. */
export function mapRest(state: UiState): UIMessageChunk[] | undefined {
  const { turn } = state;
  const rest = restOf(turn);
  if (rest === undefined) return undefined;
  const waitsForOther = rest !== 'paused' && turn.phase === 'before';
  const finish: UIMessageChunk = {
    type: 'finish',
    finishReason: rest === 'paused' || waitsForOther ? 'other' : 'tool-calls',
    messageMetadata: { seq: turn.seq },
  };
  if (turn.phase === 'before') return [status({ state: rest }), finish];
  if (rest !== 'awaiting-client') return [finish];
  const [, ended] = closeText(state);
  return [...ended, ...offerCalls(state), finish];
}

function enter(state: UiState, before: TurnState): Mapped {
  const { phase, conversationId, turnId } = state.turn;
  // A reader that did not know the turn learns its id now.
  const start = before.turnId === undefined && turnId !== undefined ? [startPart(conversationId, turnId)] : [];
  return phase === 'ended' ? [state, [...start, ...ending(state.turn)]] : [state, start];
}

function end(state: UiState, parts: UIMessageChunk[], event: ConversationEvent): Mapped {
  const [closed, more] = closeText(state);
  const finishStep: UIMessageChunk[] = state.steps > 0 ? [{ type: 'finish-step' }] : [];
  return [closed, [...parts, ...more, ...finishStep, ...ending(state.turn, event)]];
}

/** Why a turn failed is written for operators, and may name files and addresses: pages are shown where it can be read. */
function ending({ outcome, conversationId, turnId, seq, cutOff }: TurnState, event?: ConversationEvent): UIMessageChunk[] {
  const finish = (finishReason: 'stop' | 'other' | CutOff): UIMessageChunk => ({
    type: 'finish',
    finishReason,
    messageMetadata: { seq, ...(cutOff && { cutOff }) },
  });
  if (outcome === 'finished') return [finish(cutOff ?? 'stop')];
  if (outcome === 'failed') {
    const errorText = `The agent could not finish its answer (${turnId ?? 'no turn'}). An operator reads why with: longshore show ${conversationId}`;
    return [status({ state: 'failed' }), { type: 'error', errorText }];
  }
  const reason = outcome ?? (event?.type === 'conversation.closed' ? 'closed' : 'ended');
  return [status({ state: reason }), { type: 'abort', reason }, finish('other')];
}

/** The newest one replaces the one before. */
function status(data: Record<string, unknown>): UIMessageChunk {
  return { type: 'data-status', id: 'status', data };
}

type Handlers = { [Type in EventType]?: (state: UiState, event: EventOf<Type>, before: TurnState) => Mapped };

const HANDLERS: Handlers = {
  'step.started': beginStep,
  'step.finished': (state) => closeText(state),
  'text.delta': (state, { data }) => writeText(state, 'text', data.text),
  'reasoning.delta': (state, { data }) => writeText(state, 'reasoning', data.text),
  'tool.requested': requestCall,
  'tool.approval-requested': announceAsked,
  'tool.approval-resolved': (state, event) => (event.data.answer === 'deny' ? deny(state, event) : goOn(state, event)),
  'tool.started': startCall,
  'tool.output': showOutput,
  'tool.finished': finishCall,
  'tool.unknown': loseCall,
  'message.sent': sendPart,
  'message.received': (state, { data }) => [state, data.steers ? [{ type: 'data-steer', id: data.messageId, data: { text: data.text } }] : []],
  'conversation.paused': (state, { data }) => [state, [status({ state: 'paused', by: data.by })]],
  'conversation.resumed': (state, _event, before) => [state, before.paused === undefined ? [] : [status({ state: 'running' })]],
  'budget.exhausted': (state, { data }) => [state, [{ type: 'data-budget', id: data.exhausted, data: { exhausted: data.exhausted, limit: data.limit } }]],
  'sandbox.changed': (state, { data }) => [
    state,
    [{ type: 'data-sandbox', id: 'sandbox', data: { tier: data.tier, ...(data.lost !== undefined && { lost: data.lost }) } }],
  ],
  'plan.changed': (state, { data }) => [state, [{ type: 'data-plan', id: 'plan', data: { items: data.items } }]],
  note: (state, { data, seq }) => [state, [{ type: 'data-note', id: `note-${seq}`, data: { text: data.text } }]],
};

function mapOurs(state: UiState, event: ConversationEvent, before: TurnState): Mapped {
  const handle = HANDLERS[event.type] as ((state: UiState, event: ConversationEvent, before: TurnState) => Mapped) | undefined;
  return handle ? handle(state, event, before) : [state, []];
}

/** A text that was sent cannot be taken back: when the model is asked again, the message says so and goes on in parts of their own. */
function beginStep(state: UiState, { stepId, data }: EventOf<'step.started'>, before: TurnState): Mapped {
  const isRetry = stepId !== undefined && stepId === before.stepId;
  if (!isRetry) return nextStep(state);
  const [closed, parts] = closeText(state);
  return [closed, [...parts, { type: 'data-retry', id: `${stepId}-${data.attempt}`, data: { attempt: data.attempt } }]];
}

/** What a tool sends to the user before it has its result. */
function sendPart(state: UiState, { data: { part } }: EventOf<'message.sent'>): Mapped {
  const [closed, parts] = closeText(state);
  if (part.type !== 'text') {
    return [closed, [...parts, { type: 'file', mediaType: part.mediaType, url: urlOfMedia(state.turn.conversationId, part) }]];
  }
  const [written, text] = writeText(closed, 'text', part.text);
  const [ended, last] = closeText(written);
  return [ended, [...parts, ...text, ...last]];
}

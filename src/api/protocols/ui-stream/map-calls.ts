import type { UIMessageChunk } from 'ai';
import { isClientTool, nameOfClientTool } from '../../../contracts/client-tool.ts';
import type { EventOf } from '../../../contracts/events.ts';
import { tryParseForeign } from '../../../contracts/foreign-json.ts';
import { openForClient } from '../turn/turn-state.ts';
import { approvalIdOf } from './approval-ids.ts';
import { closeText, nextStep } from './map-text.ts';
import type { Mapped, UiCall, UiState } from './ui-state.ts';

/** The service runs the tools: a client that took them for its own would answer each at once, again and again. */
const OF_SERVICE = { providerExecuted: true, dynamic: true } as const;
const NOTHING_TOLD = { stdout: 0, stderr: 0 };
/** Characters of a call's output that are shown while it runs. */
const SHOWN_OUTPUT = 8_000;

/** A call that a person is asked about is shown with the question. */
export function requestCall(state: UiState, { data }: EventOf<'tool.requested'>): Mapped {
  const { callId, tool, arguments: input, argumentsBytes, decision, parentCallId } = data;
  const call: UiCall = { tool, input: input ?? { argumentsBytes }, output: '', told: NOTHING_TOLD, ...(parentCallId !== undefined && { parentCallId }) };
  const known = withCall(state, callId, call);
  // A call that a client runs is shown when it waits, or has its result.
  return decision === 'ask' || isClientTool(tool) ? [known, []] : showCall(known, callId, tool);
}

export function startCall(state: UiState, { data: { callId, tool } }: EventOf<'tool.started'>): Mapped {
  return isClientTool(tool) ? [state, []] : showCall(state, callId, tool);
}

/**
 * Gives the page the calls that wait for it, at the end of its stream. Not before: a page runs what it is given, and one that follows the stream again would run
 * a call again.
 */
export function offerCalls({ turn }: UiState): UIMessageChunk[] {
  return openForClient(turn).flatMap(({ callId: toolCallId, name: toolName, input }): UIMessageChunk[] => [
    { type: 'tool-input-start', toolCallId, toolName, providerExecuted: false },
    { type: 'tool-input-available', toolCallId, toolName, input, providerExecuted: false },
  ]);
}

/** Shows a call unless it is shown already. */
export function showCall(state: UiState, callId: string, tool: string): Mapped {
  const call = state.calls[callId] ?? { tool, input: {}, output: '', told: NOTHING_TOLD };
  if (call.step !== undefined) return [state, []];
  const [closed, ended] = closeText(state);
  return [withCall(closed, callId, { ...call, step: state.steps }), [...ended, { type: 'tool-input-start', ...headOf(callId, call) }, inputPart(callId, call)]];
}

/**
 * Asks a person. A client sends its answers by itself only when each call of the message's last step has its result or an answer. So a step begins here if the
 * one before has calls that wait for neither: calls that run after the answer, or the code that makes this call.
 */
export function announceAsked(state: UiState, { seq, data }: EventOf<'tool.approval-requested'>): Mapped {
  const { callId, tool, hash, why, expiresAtMs, arguments: input } = data;
  const call = { output: '', told: NOTHING_TOLD, ...state.calls[callId], tool, input };
  const isMixed = Object.values(state.calls).some(({ step, isWaiting, isDenied }) => step === state.steps && !isWaiting && !isDenied);
  const [placed, stepped] = isMixed && call.step === undefined ? nextStep(state) : closeText(state);
  const [shown, parts] = showCall(withCall(placed, callId, call), callId, tool);
  const approvalDescriptor = { why, ...(expiresAtMs > 0 && { expiresAt: new Date(expiresAtMs).toISOString() }) };
  const request: UIMessageChunk = { type: 'tool-approval-request', approvalId: approvalIdOf({ callId, hash, seq }), toolCallId: callId, approvalDescriptor };
  return [changed(shown, callId, { isWaiting: true }), [...stepped, ...parts, request]];
}

/** The call may run, with arguments that a person may have changed; or no answer came in time, and its result comes. Until then it waits no longer. */
export function goOn(state: UiState, { data: { callId, arguments: input } }: EventOf<'tool.approval-resolved'>): Mapped {
  const call = state.calls[callId];
  if (!call) return [state, []];
  const next = { ...call, isWaiting: false, ...(input && { input }) };
  // In an earlier step, the client would take this for another call.
  return [withCall(state, callId, next), call.step === state.steps ? [inputPart(callId, next)] : []];
}

export function deny(state: UiState, { data: { callId, tool } }: EventOf<'tool.approval-resolved'>): Mapped {
  const [shown, parts] = showCall(state, callId, tool);
  return [changed(shown, callId, { isWaiting: false, isDenied: true }), [...parts, { type: 'tool-output-denied', toolCallId: callId }]];
}

export function showOutput(state: UiState, { data }: EventOf<'tool.output'>): Mapped {
  const { callId, stream, offset, bytes, text } = data;
  const call = state.calls[callId];
  // Two workers that both believed that they owned the call may both have told its output.
  if (!call || call.isDenied || offset < call.told[stream]) return [state, []];
  const output = tailOf(call.output + text);
  const told = { ...call.told, [stream]: offset + bytes };
  return [changed(state, callId, { output, told }), [{ type: 'tool-output-available', toolCallId: callId, output, preliminary: true, ...OF_SERVICE }]];
}

export function finishCall(state: UiState, { data: { callId, tool, isError, text } }: EventOf<'tool.finished'>): Mapped {
  const mark = markOf(tool);
  const part: UIMessageChunk = isError
    ? { type: 'tool-output-error', toolCallId: callId, errorText: text, ...mark }
    : { type: 'tool-output-available', toolCallId: callId, output: isClientTool(tool) ? valueOf(text) : text, ...mark };
  // The page that has run the call has it in its message.
  if (isClientTool(tool) && state.turn.given.includes(callId)) return [forget(state, callId), [part]];
  return settle(state, callId, tool, part);
}

export function loseCall(state: UiState, { data: { callId, tool, why } }: EventOf<'tool.unknown'>): Mapped {
  const errorText = `It is not known whether this call took effect: ${why}`;
  return settle(state, callId, tool, { type: 'tool-output-error', toolCallId: callId, errorText, ...OF_SERVICE });
}

/** A denied call has a result for the model, too, that says so. What has its result is forgotten: code may make thousands of calls in one turn. */
function settle(state: UiState, callId: string, tool: string, part: UIMessageChunk): Mapped {
  const isDenied = state.calls[callId]?.isDenied === true;
  const [shown, parts] = isDenied ? [state, []] : showCall(state, callId, tool);
  return [forget(shown, callId), isDenied ? [] : [...parts, part]];
}

function forget(state: UiState, callId: string): UiState {
  const { [callId]: _, ...calls } = state.calls;
  return { ...state, calls };
}

/** As a client gave it. */
function valueOf(text: string): unknown {
  return tryParseForeign(text) ?? text;
}

/** A tool of the page has the type that the page gave it. */
function markOf(tool: string) {
  return isClientTool(tool) ? { providerExecuted: true } : OF_SERVICE;
}

function headOf(toolCallId: string, { tool, parentCallId }: UiCall) {
  const toolName = isClientTool(tool) ? nameOfClientTool(tool) : tool;
  return { toolCallId, toolName, ...markOf(tool), ...(parentCallId !== undefined && { toolMetadata: { parentCallId } }) };
}

function inputPart(callId: string, call: UiCall): UIMessageChunk {
  return { type: 'tool-input-available', ...headOf(callId, call), input: call.input };
}

function withCall(state: UiState, callId: string, call: UiCall): UiState {
  return { ...state, calls: { ...state.calls, [callId]: call } };
}

function changed(state: UiState, callId: string, change: Partial<UiCall>): UiState {
  const call = state.calls[callId];
  return call ? withCall(state, callId, { ...call, ...change }) : state;
}

/** Removes the second half of a surrogate pair at the cut. */
function tailOf(text: string): string {
  return text.length <= SHOWN_OUTPUT ? text : text.slice(-SHOWN_OUTPUT).replace(/^[\uDC00-\uDFFF]/, '');
}

import type { ProposedCall } from '../../contracts/activities.ts';
import type { WaitingCall } from '../../contracts/client-tool.ts';
import type { ConversationData, OpenClientCall } from './conversation-data.ts';

/** Whether a call, once it is begun, waits for a client or for sub-agents: nothing of it is in the sandbox. */
export function waitsForOthers({ waits, client }: Pick<ProposedCall, 'waits' | 'client'>): boolean {
  return waits ?? client ?? false;
}

/** From now on, the answer of a client is noted. */
export function openClientCall(data: ConversationData, { callId, tool }: Pick<WaitingCall, 'callId' | 'tool'>): void {
  data.clientCalls.push({ callId, tool, isWaiting: false, isAnswered: false });
}

export function closeClientCall(data: ConversationData, closed: string): void {
  data.clientCalls = data.clientCalls.filter(({ callId }) => callId !== closed);
}

/** The call is about to be attached to: what a client has answered until now is found by that. */
export function beginAttach(data: ConversationData, callId: string): void {
  change(data, callId, (call) => Object.assign(call, { isWaiting: false, isAnswered: false }));
}

/** The call is known to clients, and waits. */
export function beginWait(data: ConversationData, callId: string, expiresAtMs: number | undefined): void {
  change(data, callId, (call) => Object.assign(call, { isWaiting: true }, expiresAtMs !== undefined && { expiresAtMs }));
}

/** A client says that it has given a result. Does nothing for a call that no client runs. */
export function takeAnswer(data: ConversationData, callId: string): void {
  change(data, callId, (call) => Object.assign(call, { isAnswered: true }));
}

/** Whether a client has answered since the call was last attached to. */
export function isAnswered({ clientCalls }: ConversationData, wanted: string): boolean {
  return clientCalls.some(({ callId, isAnswered: yes }) => callId === wanted && yes);
}

/** As the status shows them. */
export function waitingCalls({ clientCalls }: ConversationData): WaitingCall[] {
  const waiting = clientCalls.filter(({ isWaiting }) => isWaiting);
  return waiting.map(({ callId, tool, expiresAtMs }) => ({ callId, tool, ...(expiresAtMs !== undefined && { expiresAtMs }) }));
}

function change({ clientCalls }: ConversationData, changed: string, make: (call: OpenClientCall) => void): void {
  const call = clientCalls.find(({ callId }) => callId === changed);
  if (call) make(call);
}

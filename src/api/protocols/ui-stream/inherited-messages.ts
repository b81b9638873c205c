import type { StoredEntry } from '../../../contracts/transcript.ts';
import { isClientTool, nameOfClientTool } from '../../../contracts/client-tool.ts';
import { tryParseForeign } from '../../../contracts/foreign-json.ts';
import type { UiMessage } from './ui-messages.ts';

/** A message of a page, and the entry of the transcript that begins it. */
export interface PlacedMessage {
  seq: number;
  message: UiMessage;
}
type UiPart = UiMessage['parts'][number];

/**
 * The messages that a fork has from its source. The events that made them are in the log of the source, which may be gone, so they are made of the transcript: with
 * the results of calls, and without what was only seen while a turn ran.
 */
export function inheritedMessages(entries: readonly StoredEntry[]): PlacedMessage[] {
  const messages: PlacedMessage[] = [];
  let answer: (PlacedMessage & { turnId: string }) | undefined;
  for (const { seq, turnId, entry } of entries) {
    const isSameTurn = answer?.turnId === turnId;
    if (entry.role === 'user' && !isSameTurn) {
      messages.push({ seq, message: { id: `entry-${seq}`, role: 'user', parts: [{ type: 'text', text: textOf(entry.content) }] } });
      continue;
    }
    if (!answer || !isSameTurn) {
      answer = { seq, turnId, message: { id: turnId, role: 'assistant', parts: [] } };
      messages.push(answer);
    }
    addEntry(answer.message.parts, seq, entry);
  }
  return messages;
}

function addEntry(parts: UiPart[], seq: number, entry: StoredEntry['entry']): void {
  switch (entry.role) {
    case 'user':
      parts.push({ type: 'data-steer', id: `entry-${seq}`, data: { text: textOf(entry.content) } });
      return;
    case 'note':
      parts.push({ type: 'data-note', id: `note-${seq}`, data: { text: entry.text } });
      return;
    case 'tool':
      addResult(parts, entry);
      return;
    default:
      parts.push({ type: 'step-start' });
      for (const part of entry.parts) parts.push(part.type === 'tool-call' ? callPart(part) : { type: part.type, text: part.text, state: 'done' });
  }
}

function callPart({ callId, tool, arguments: input }: { callId: string; tool: string; arguments: unknown }): UiPart {
  const kind = isClientTool(tool) ? { type: `tool-${nameOfClientTool(tool)}` } : { type: 'dynamic-tool', toolName: tool };
  return { ...kind, toolCallId: callId, state: 'input-available', input, providerExecuted: true };
}

function addResult(parts: UiPart[], { callId, tool, content, isError }: StoredEntry['entry'] & { role: 'tool' }): void {
  const call = parts.findLast((part) => part['toolCallId'] === callId);
  if (!call) return;
  const text = textOf(content);
  const value = isClientTool(tool) ? (tryParseForeign(text) ?? text) : text;
  Object.assign(call, isError ? { state: 'output-error', errorText: text } : { state: 'output-available', output: value });
}

function textOf(content: (StoredEntry['entry'] & { role: 'user' })['content']): string {
  return content.map((part) => (part.type === 'text' ? part.text : `(${part.type}: ${part.mediaType})`)).join('\n');
}

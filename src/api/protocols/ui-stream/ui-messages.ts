import type { UIMessageChunk } from 'ai';
import type { ConversationEvent, EventData } from '../../../contracts/events.ts';
import { mapEvent, mapRest } from './map-event.ts';
import { urlOfMedia } from './media-url.ts';
import { beginMessage, startPart, type UiState } from './ui-state.ts';

/** A message as a page of the AI SDK keeps it (`UIMessage`). */
export interface UiMessage {
  id: string;
  role: 'user' | 'assistant';
  metadata?: Record<string, unknown>;
  parts: UiPart[];
}
type UiPart = { type: string } & Record<string, unknown>;

/** A turn whose events are read. */
interface Reading {
  state: UiState;
  message: UiMessage;
}

/**
 * The messages of a conversation that begin before event `before`, as the streams of its turns would have made them; of a text that the model began again, only the
 * last beginning. The last of them may go on after `before`, and is read to its end.
 */
export async function uiMessagesOf(conversationId: string, events: AsyncIterable<ConversationEvent>, before = Infinity): Promise<UiMessage[]> {
  const messages: UiMessage[] = [];
  let reading: Reading | undefined;
  for await (const event of events) {
    const isMeant = event.seq < before;
    if (event.type === 'turn.started' && !isMeant) break;
    if (event.type === 'message.received' && isMeant) messages.push(...userMessages(conversationId, event.data));
    if (event.type === 'turn.started' && event.turnId !== undefined) {
      reading = { state: beginMessage(conversationId, event.turnId), message: { id: event.turnId, role: 'assistant', parts: [] } };
      apply(reading.message, [startPart(conversationId, event.turnId)]);
      messages.push(reading.message);
    }
    if (!reading) continue;
    const [state, parts] = mapEvent(reading.state, event);
    apply(reading.message, parts);
    reading.state = state;
  }
  if (reading) apply(reading.message, mapRest(reading.state) ?? []);
  return messages;
}

/** A message that joined a turn is a part of the turn's message. */
function userMessages(conversationId: string, { messageId, text, steers, attachments = [] }: EventData['message.received']): UiMessage[] {
  const files = attachments.map(({ attachmentId: blob, name: filename, mediaType }) => ({
    type: 'file',
    mediaType,
    filename,
    url: urlOfMedia(conversationId, { blob, mediaType }),
  }));
  const texts = text === '' && files.length > 0 ? [] : [{ type: 'text', text }];
  return steers ? [] : [{ id: messageId, role: 'user', parts: [...files, ...texts] }];
}

function apply(message: UiMessage, parts: UIMessageChunk[]): void {
  for (const part of parts) applyPart(message, part);
}

/** Adds a part of a stream to its message. */
function applyPart(message: UiMessage, part: UIMessageChunk): void {
  if (part.type === 'start' || part.type === 'finish') message.metadata = { ...message.metadata, ...(part.messageMetadata as object | undefined) };
  else if (part.type === 'start-step') message.parts.push({ type: 'step-start' });
  else if (part.type === 'file') message.parts.push({ type: 'file', mediaType: part.mediaType, url: part.url });
  else if ('toolCallId' in part) applyCall(message.parts, part);
  else if ('data' in part) applyData(message.parts, part);
  else applyText(message.parts, part);
}

function applyText(parts: UiPart[], part: UIMessageChunk): void {
  switch (part.type) {
    case 'text-start':
      parts.push({ type: 'text', text: '', state: 'streaming' });
      return;
    case 'reasoning-start':
      parts.push({ type: 'reasoning', id: part.id, text: '', state: 'streaming' });
      return;
    case 'text-delta':
    case 'reasoning-delta':
      changeLast(parts, part.type === 'text-delta' ? 'text' : 'reasoning', (last) => ({ text: `${String(last['text'])}${part.delta}` }));
      return;
    case 'text-end':
    case 'reasoning-end':
      changeLast(parts, part.type === 'text-end' ? 'text' : 'reasoning', () => ({ state: 'done' }));
      return;
    default:
  }
}

function changeLast(parts: UiPart[], type: string, change: (last: UiPart) => Record<string, unknown>): void {
  const last = parts.findLast((part) => part.type === type);
  if (last) Object.assign(last, change(last));
}

function applyData(parts: UiPart[], { type, id, data }: { type: string; id?: string; data: unknown }): void {
  if (type === 'data-retry') {
    // A reader who comes later need not see what the model had begun.
    const from = parts.findLastIndex((part) => part.type === 'step-start') + 1;
    parts.splice(from, parts.length, ...parts.slice(from).filter((part) => part.type !== 'text' && part.type !== 'reasoning'));
  }
  const known = parts.find((part) => part.type === type && part['id'] === id);
  if (known) known['data'] = data;
  else parts.push({ type, ...(id !== undefined && { id }), data });
}

function applyCall(parts: UiPart[], part: Extract<UIMessageChunk, { toolCallId: string }>): void {
  const call = parts.findLast((one) => one['toolCallId'] === part.toolCallId);
  if (part.type === 'tool-input-start' && !call) {
    const { toolCallId, toolName, toolMetadata, dynamic, providerExecuted } = part;
    const kind = dynamic ? { type: 'dynamic-tool', toolName } : { type: `tool-${toolName}` };
    parts.push({ ...kind, toolCallId, ...(toolMetadata && { toolMetadata }), state: 'input-streaming', ...(providerExecuted && { providerExecuted }) });
  }
  if (call) Object.assign(call, changeOf(part));
}

function changeOf(part: Extract<UIMessageChunk, { toolCallId: string }>): Record<string, unknown> {
  switch (part.type) {
    case 'tool-input-available':
      return { state: 'input-available', input: part.input, ...(part.providerExecuted === false && { providerExecuted: undefined }) };
    case 'tool-approval-request':
      return { state: 'approval-requested', approval: { id: part.approvalId, descriptor: part.approvalDescriptor } };
    case 'tool-output-denied':
      return { state: 'output-denied' };
    case 'tool-output-available':
      return { state: 'output-available', output: part.output, preliminary: part.preliminary };
    case 'tool-output-error':
      return { state: 'output-error', output: undefined, errorText: part.errorText, preliminary: undefined };
    default:
      return {};
  }
}

import type { AssistantModelMessage, ModelMessage, SystemModelMessage, ToolModelMessage, ToolResultPart, UserModelMessage } from 'ai';
import { isStoredMedia, nameOfMedia } from '../contracts/attachments/media.ts';
import type { JsonObject } from '../contracts/json.ts';
import { cutOffText, type ContentPart, type StoredEntry, type TranscriptEntry } from '../contracts/transcript.ts';
import type { ModelRequest, ModelTool } from './model.ts';
import type { ProviderTraits } from './provider-traits.ts';

type UserParts = Exclude<UserModelMessage['content'], string>;
type AssistantParts = Exclude<AssistantModelMessage['content'], string>;
type ToolEntry = TranscriptEntry & { role: 'tool' };
type AssistantEntry = TranscriptEntry & { role: 'assistant' };
type PromptTraits = Pick<ProviderTraits, 'mediaInToolResults' | 'cacheMark'>;
export interface Prompt {
  system?: SystemModelMessage;
  messages: ModelMessage[];
}

/** Providers refuse a call without a result, so this text stands in for a missing one. */
const NO_RESULT = 'This call has no result: it was not run, or its result was lost.';

/**
 * Turns a transcript into the messages of a provider. Results follow their calls directly, even when notes lie between them; adjacent
 * user messages and notes become one message, because some providers require alternating roles.
 */
export function toMessages(request: Pick<ModelRequest, 'instructions' | 'transcript' | 'shown' | 'tools'>, traits: PromptTraits): Prompt {
  const shown = request.shown ?? request.transcript;
  const results = new Map(shown.flatMap(({ entry }) => (entry.role === 'tool' ? [[entry.callId, entry] as const] : [])));
  const messages = shown.reduce<ModelMessage[]>((sofar, stored) => appendEntry(sofar, stored, results, request.tools, traits), []);
  const { cacheMark } = traits;
  const last = messages.at(-1);
  if (last && cacheMark) last.providerOptions = cacheMark;
  const system: SystemModelMessage = { role: 'system', content: request.instructions, ...(cacheMark && { providerOptions: cacheMark }) };
  return { messages, ...(request.instructions.trim() !== '' && { system }) };
}

function appendEntry(
  messages: ModelMessage[],
  { entry }: StoredEntry,
  results: Map<string, ToolEntry>,
  tools: ModelTool[],
  traits: PromptTraits,
): ModelMessage[] {
  if (entry.role === 'user') return appendUser(messages, toUserParts(entry.content));
  if (entry.role === 'note') return appendUser(messages, [{ type: 'text', text: noteText(entry) }]);
  if (entry.role !== 'assistant') return messages;
  const said = appendAssistant(messages, entry, results, tools, traits);
  return entry.cutOff ? appendUser(said, [{ type: 'text', text: noteText({ text: cutOffText(entry.cutOff) }) }]) : said;
}

/** What comes from the guest, or from a tool, must not end its note, nor begin one of Longshore's. */
function noteText({ text, from = 'longshore' }: { text: string; from?: string }): string {
  return `<note from="${from}">${text.replaceAll(/<(?=\/?note)/gi, '‹')}</note>`;
}

function appendUser(messages: ModelMessage[], parts: UserParts): ModelMessage[] {
  const last = messages.at(-1);
  if (last?.role !== 'user' || typeof last.content === 'string') return [...messages, { role: 'user', content: parts }];
  last.content.push(...parts);
  return messages;
}

function appendAssistant(
  messages: ModelMessage[],
  entry: AssistantEntry,
  results: Map<string, ToolEntry>,
  tools: ModelTool[],
  traits: PromptTraits,
): ModelMessage[] {
  const calls = entry.parts.filter((part) => part.type === 'tool-call');
  const spoke = entry.parts.some((part) => part.type === 'text' && part.text.trim() !== '');
  if (calls.length === 0 && !spoke) return messages;
  const assistant: AssistantModelMessage = { role: 'assistant', content: toAssistantParts(entry, tools) };
  if (calls.length === 0) return [...messages, assistant];
  const answered = calls.map((call) => ({ call, result: results.get(call.callId) }));
  const toolMessage: ToolModelMessage = {
    role: 'tool',
    content: answered.map(({ call, result }) => ({
      type: 'tool-result',
      toolCallId: call.callId,
      toolName: aliasOf(call.tool, tools),
      output: toOutput(result, traits.mediaInToolResults),
    })),
  };
  const withResults = [...messages, assistant, toolMessage];
  const media = traits.mediaInToolResults ? [] : answered.flatMap(({ call, result }) => mediaAfter(call.callId, result));
  return media.length === 0 ? withResults : appendUser(withResults, media);
}

function toAssistantParts(entry: AssistantEntry, tools: ModelTool[]): AssistantParts {
  return entry.parts.flatMap((part): AssistantParts => {
    const metadata = 'providerMetadata' in part ? { providerOptions: part.providerMetadata as Record<string, JsonObject> } : {};
    if (part.type === 'reasoning') return [{ type: 'reasoning', text: part.text, ...metadata }];
    if (part.type === 'text') return part.text.trim() === '' ? [] : [{ type: 'text', text: part.text }];
    return [{ type: 'tool-call', toolCallId: part.callId, toolName: aliasOf(part.tool, tools), input: part.arguments, ...metadata }];
  });
}

function toOutput(result: ToolEntry | undefined, mediaAllowed: boolean): ToolResultPart['output'] {
  if (!result) return { type: 'error-text', value: NO_RESULT };
  const hasMedia = result.content.some((part) => part.type !== 'text');
  if (hasMedia && mediaAllowed) return { type: 'content', value: result.content.map(toOutputPart) };
  const text = result.content.map((part) => (part.type === 'text' ? part.text : `[${nameOf(part)}: in the next message]`)).join('\n');
  return { type: result.isError ? 'error-text' : 'text', value: text === '' ? '(no output)' : text };
}

function toOutputPart(part: ContentPart): Extract<ToolResultPart['output'], { type: 'content' }>['value'][number] {
  if (part.type === 'text') return { type: 'text', text: part.text };
  if (isStoredMedia(part)) return { type: 'text', text: nameOfMedia(part) };
  if (part.type === 'image') return { type: 'image-data', data: part.data, mediaType: part.mediaType };
  return { type: 'file-data', data: part.data, mediaType: part.mediaType, filename: part.name };
}

function mediaAfter(callId: string, result: ToolEntry | undefined): UserParts {
  const media = result?.content.filter((part) => part.type !== 'text') ?? [];
  return media.length === 0 ? [] : [{ type: 'text', text: `Content of the result of ${callId}:` }, ...toUserParts(media)];
}

function toUserParts(content: ContentPart[]): UserParts {
  const parts = content.flatMap((part): UserParts => {
    if (part.type === 'text') return part.text.trim() === '' ? [] : [{ type: 'text', text: part.text }];
    if (isStoredMedia(part)) return [{ type: 'text', text: nameOfMedia(part) }];
    if (part.type === 'image') return [{ type: 'image', image: part.data, mediaType: part.mediaType }];
    return [{ type: 'file', data: part.data, mediaType: part.mediaType, filename: part.name }];
  });
  return parts.length > 0 ? parts : [{ type: 'text', text: '(empty message)' }];
}

function nameOf(part: ContentPart): string {
  return part.type === 'file' ? (part.name ?? part.type) : part.type;
}

/** A tool that the agent no longer has still needs a name the provider accepts. */
function aliasOf(tool: string, tools: ModelTool[]): string {
  return tools.find((known) => known.tool === tool)?.name ?? (tool.replaceAll(/[^\w-]/g, '_').slice(0, 64) || '_');
}

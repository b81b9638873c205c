import type { Usage } from '../../../contracts/usage.ts';
import type { CompletionPart } from './map-event.ts';

/** What all chunks of an answer say. */
export interface CompletionHead {
  id: string;
  /** Seconds since 1970. */
  created: number;
  model: string;
}

export interface Completion extends CompletionHead {
  object: 'chat.completion';
  choices: object[];
  usage?: object;
}

/** A part as the chunk of a stream; an error has another shape, and ends the stream. */
export function chunkOf(head: CompletionHead, part: CompletionPart): object {
  if (part.kind === 'error') return { error: { message: part.text, type: 'server_error', param: null, code: 'TURN_FAILED' } };
  if (part.kind === 'finish') return chunk(head, {}, part.reason);
  if (part.kind === 'calls') return chunk(head, { tool_calls: part.calls.map((call, index) => ({ index, ...toolCallOf(call) })) });
  return chunk(head, part.kind === 'text' ? { content: part.text } : { reasoning_content: part.text });
}

export function firstChunk(head: CompletionHead): object {
  return chunk(head, { role: 'assistant', content: '' });
}

/** The last chunk, for clients that ask for it. */
export function usageChunk(head: CompletionHead, usage: Usage): object {
  return { ...head, object: 'chat.completion.chunk', choices: [], usage: usageOf(usage) };
}

/** An answer as a whole. `parts` have no error. */
export function completionOf(head: CompletionHead, parts: CompletionPart[]): Completion {
  const textOf = (kind: 'text' | 'reasoning') => parts.flatMap((part) => (part.kind === kind ? [part.text] : [])).join('');
  const reasoning = textOf('reasoning');
  const finish = parts.find((part) => part.kind === 'finish');
  const calls = parts.flatMap((part) => (part.kind === 'calls' ? part.calls : []));
  const text = textOf('text');
  const message = {
    role: 'assistant',
    content: calls.length > 0 && text === '' ? null : text,
    refusal: null,
    ...(calls.length > 0 && { tool_calls: calls.map(toolCallOf) }),
    ...(reasoning !== '' && { reasoning_content: reasoning }),
  };
  return {
    ...head,
    object: 'chat.completion',
    choices: [{ index: 0, message, logprobs: null, finish_reason: finish?.reason ?? 'stop' }],
    ...(finish && { usage: usageOf(finish.usage) }),
  };
}

function toolCallOf({ id, name, arguments: input }: Extract<CompletionPart, { kind: 'calls' }>['calls'][number]): object {
  return { id, type: 'function', function: { name, arguments: JSON.stringify(input) } };
}

function chunk(head: CompletionHead, delta: object, reason: string | null = null): object {
  return { ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, logprobs: null, finish_reason: reason }] };
}

function usageOf({ inputTokens, outputTokens, cacheReadTokens }: Usage) {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    ...(cacheReadTokens !== undefined && { prompt_tokens_details: { cached_tokens: cacheReadTokens } }),
  };
}

import type { Json, JsonObject } from '../../../contracts/json.ts';
import type { ContentPart } from '../../../contracts/transcript.ts';
import type { ToolResult } from '../../define-plugin.ts';

/** Keys of a result that say how it is to be read. */
const ENVELOPE = new Set(['success', 'content', 'message', 'error']);

/** A handler's result in the canonical form: `[ok, text]`, an object with `success` or content items, or any JSON. */
export function resultOf(value: unknown): ToolResult {
  if (Array.isArray(value) && value.length === 2 && typeof value[0] === 'boolean' && typeof value[1] === 'string') {
    return { content: [textPart(value[1])], isError: !value[0] };
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return (value ?? null) as Json;
  const result = value as JsonObject;
  const items = result['content_items'] ?? result['contentItems'];
  const isError = result['success'] === false;
  if (Array.isArray(items)) return { content: [...headOf(result), ...items.map(partOf)], isError };
  return isError ? { content: [textPart(failureOf(result))], isError } : result;
}

function headOf({ error, content, message, success }: JsonObject): ContentPart[] {
  const text = success === false ? (error ?? content ?? message) : (content ?? message);
  return typeof text === 'string' && text !== '' ? [textPart(text)] : [];
}

/** What went wrong; with other keys than the usual ones, all of the result. */
function failureOf(result: JsonObject): string {
  const text = result['error'] ?? result['content'] ?? result['message'];
  const usual = Object.keys(result).every((key) => ENVELOPE.has(key));
  return usual && typeof text === 'string' && text !== '' ? text : JSON.stringify(result);
}

function partOf(item: Json, index: number): ContentPart {
  const { content_type, contentType = content_type, mime_type, mimeType = mime_type, data, text, uri, name } = (item ?? {}) as JsonObject;
  const body = typeof data === 'string' ? data : undefined;
  if (contentType === 'text') return textPart(body ?? (typeof text === 'string' ? text : ''));
  if (body === undefined) {
    if (typeof uri === 'string') return textPart(uri);
    throw new Error(`item ${index + 1} of its result has neither data nor uri`);
  }
  const [, urlType, urlData] = /^data:([^;,]+);base64,(.*)$/s.exec(body) ?? [];
  const mediaType = typeof mimeType === 'string' ? mimeType : urlType;
  if (contentType === 'image') return { type: 'image', mediaType: mediaType ?? 'image/png', data: urlData ?? body };
  const fileName = [name, typeof uri === 'string' ? uri.split('/').at(-1) : undefined].find((each) => typeof each === 'string' && each !== '');
  return { type: 'file', mediaType: mediaType ?? 'application/octet-stream', name: String(fileName ?? `item-${index + 1}`), data: urlData ?? body };
}

function textPart(text: string): ContentPart {
  return { type: 'text', text };
}

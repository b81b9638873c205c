import type { Json, JsonObject } from '../../../contracts/json.ts';
import type { ContentPart } from '../../../contracts/transcript.ts';
import type { ToolResult } from '../../api/define-plugin.ts';

/** Keys that describe the outcome of a call. */
const ENVELOPE = new Set(['success', 'content', 'message', 'error']);

/** A handler's result in the canonical form: `[ok, text]`, an object with `success` or content items, or any JSON. */
export function handlerResultOf(value: unknown): ToolResult {
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

/** The error text. Where the result has other keys than the usual ones, all of the result. */
function failureOf(result: JsonObject): string {
  const text = result['error'] ?? result['content'] ?? result['message'];
  const usual = Object.keys(result).every((key) => ENVELOPE.has(key));
  return usual && typeof text === 'string' && text !== '' ? text : JSON.stringify(result);
}

const DATA_URL = /^data:(?<type>[^;,]+);base64,(?<data>.*)$/s;

/** Accepts the names of fields in snake case and in camel case. */
function partOf(item: Json, index: number): ContentPart {
  const given = (item ?? {}) as JsonObject;
  const kind = textIn(given, 'content_type', 'contentType');
  if (kind === 'text') return textPart(textIn(given, 'data', 'text') ?? '');
  const data = textIn(given, 'data');
  if (data !== undefined) return dataPart(given, kind === 'image', data, index);
  const uri = textIn(given, 'uri');
  if (uri === undefined) throw new Error(`item ${index + 1} of its result has neither data nor uri`);
  return textPart(uri);
}

function dataPart(given: JsonObject, isImage: boolean, data: string, index: number): ContentPart {
  const { type, data: body = data } = DATA_URL.exec(data)?.groups ?? {};
  const mediaType = textIn(given, 'mime_type', 'mimeType') ?? type;
  if (isImage) return { type: 'image', mediaType: mediaType ?? 'image/png', data: body };
  const name = textIn(given, 'name') ?? textIn(given, 'uri')?.split('/').at(-1);
  return { type: 'file', mediaType: mediaType ?? 'application/octet-stream', name: name || `item-${index + 1}`, data: body };
}

/** The first of these keys whose value is a text. */
function textIn(given: JsonObject, ...keys: string[]): string | undefined {
  return keys.map((key) => given[key]).find((value) => typeof value === 'string');
}

function textPart(text: string): ContentPart {
  return { type: 'text', text };
}

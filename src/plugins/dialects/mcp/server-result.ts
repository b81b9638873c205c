import type { CallToolResult } from '@modelcontextprotocol/client';
import { isObject, type Json } from '../../../contracts/json.ts';
import type { ContentPart } from '../../../contracts/transcript.ts';
import type { ToolResult } from '../../api/define-plugin.ts';
import { partOf } from './offers/part-of.ts';

/**
 * A server's answer as the result of a tool. Where structured content comes only with text, it is the whole result, because the text repeats it. Code that
 * calls the tool then receives a value.
 */
export function serverResultOf({ content, structuredContent, isError = false }: CallToolResult): ToolResult {
  const onlyText = content.every(({ type }) => type === 'text');
  // A value with a list `content` of its own would be mistaken for parts.
  const isValue = structuredContent !== undefined && onlyText && !isError && !hasParts(structuredContent);
  if (isValue) return structuredContent as Json;
  const parts = content.map(partOf);
  if (structuredContent !== undefined && !onlyText) parts.push({ type: 'text', text: JSON.stringify(structuredContent) });
  if (parts.length === 0) parts.push({ type: 'text', text: emptyText(structuredContent, isError) });
  return isError ? { content: parts, isError } : plainOf(parts);
}

function hasParts(value: unknown): boolean {
  return isObject(value) && Array.isArray(value['content']);
}

/** A single text part becomes a text, for code that calls the tool. */
function plainOf(parts: ContentPart[]): ToolResult {
  const [first] = parts;
  return first?.type === 'text' && parts.length === 1 ? first.text : { content: parts, isError: false };
}

function emptyText(structuredContent: unknown, isError: boolean): string {
  if (structuredContent !== undefined) return JSON.stringify(structuredContent);
  return isError ? 'It failed and said nothing.' : 'Done.';
}

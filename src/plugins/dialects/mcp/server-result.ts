import { isDeepStrictEqual } from 'node:util';
import type { CallToolResult } from '@modelcontextprotocol/client';
import { mayHaveLostDigits, tryParseForeign } from '../../../contracts/foreign-json.ts';
import { isObject, type Json } from '../../../contracts/json.ts';
import type { ContentPart } from '../../../contracts/transcript.ts';
import type { ToolResult } from '../../api/define-plugin.ts';
import { partOf } from './offers/part-of.ts';

const ROUNDED = `Whole numbers beyond ${Number.MAX_SAFE_INTEGER} may have other last digits here.`;

/**
 * A server's answer as the result of a tool. Where structured content comes only with text, it is the whole result, because the text repeats it. Code that
 * calls the tool then receives a value. But only the text has all digits of large numbers.
 */
export function serverResultOf({ content, structuredContent, isError = false }: CallToolResult): ToolResult {
  const onlyText = content.every(({ type }) => type === 'text');
  const isRounded = mayHaveLostDigits(structuredContent);
  if (!isRounded && isValue(structuredContent) && onlyText && !isError) return structuredContent as Json;
  const parts = content.map(partOf);
  if (!onlyText || !isRepeated(structuredContent, content)) parts.push(...structuredParts(structuredContent, isRounded));
  if (parts.length === 0) parts.push({ type: 'text', text: isError ? 'It failed and said nothing.' : 'Done.' });
  return isError ? { content: parts, isError } : plainOf(parts);
}

/** A value with a list `content` of its own would be mistaken for parts. */
function isValue(structured: unknown): boolean {
  return structured !== undefined && !(isObject(structured) && Array.isArray(structured['content']));
}

/** Servers should repeat structured content as a text, and some write a summary. */
function isRepeated(structured: unknown, content: CallToolResult['content']): boolean {
  return content.some((block) => block.type === 'text' && isDeepStrictEqual(tryParseForeign(block.text), structured));
}

/** A single text part becomes a text, for code that calls the tool. */
function plainOf(parts: ContentPart[]): ToolResult {
  const [first] = parts;
  return first?.type === 'text' && parts.length === 1 ? first.text : { content: parts, isError: false };
}

/** Structured content that no text repeats. */
function structuredParts(structured: unknown, isRounded: boolean): ContentPart[] {
  if (structured === undefined) return [];
  return [JSON.stringify(structured), ...(isRounded ? [ROUNDED] : [])].map((text) => ({ type: 'text', text }));
}

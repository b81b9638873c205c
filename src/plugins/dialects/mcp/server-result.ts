import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/sdk/types.js';
import type { Json } from '../../../contracts/json.ts';
import type { ContentPart } from '../../../contracts/transcript.ts';
import type { ToolResult } from '../../api/define-plugin.ts';

/**
 * A server's answer as the result of a tool. Where structured content comes only with text, it is the whole result, because the text repeats it. Code that
 * calls the tool then receives a value.
 */
export function serverResultOf({ content, structuredContent, isError = false }: CallToolResult): ToolResult {
  const onlyText = content.every(({ type }) => type === 'text');
  // A value with a list `content` of its own would be mistaken for parts.
  const isValue = structuredContent && onlyText && !isError && !Array.isArray(structuredContent['content']);
  if (isValue) return structuredContent as Json;
  const parts = content.map(partOf);
  if (structuredContent && !onlyText) parts.push({ type: 'text', text: JSON.stringify(structuredContent) });
  if (parts.length === 0) parts.push({ type: 'text', text: emptyText(structuredContent, isError) });
  return isError ? { content: parts, isError } : plainOf(parts);
}

/** A single text part becomes a text, for code that calls the tool. */
function plainOf(parts: ContentPart[]): ToolResult {
  const [first] = parts;
  return first?.type === 'text' && parts.length === 1 ? first.text : { content: parts, isError: false };
}

function emptyText(structuredContent: unknown, isError: boolean): string {
  if (structuredContent) return JSON.stringify(structuredContent);
  return isError ? 'It failed and said nothing.' : 'Done.';
}

/** One block of a server's content as content for the model. */
export function partOf(block: ContentBlock): ContentPart {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text };
    case 'image':
      return { type: 'image', mediaType: block.mimeType, data: block.data };
    case 'audio':
      return { type: 'file', mediaType: block.mimeType, name: 'audio', data: block.data };
    case 'resource_link':
      return { type: 'text', text: `${block.title ?? block.name}: ${block.uri}${block.description ? ` (${block.description})` : ''}` };
    case 'resource': {
      const { uri, mimeType } = block.resource;
      if ('blob' in block.resource && mimeType?.startsWith('image/')) return { type: 'image', mediaType: mimeType, data: block.resource.blob };
      if ('text' in block.resource) return { type: 'text', text: `${uri}:\n${block.resource.text}` };
      return { type: 'file', mediaType: mimeType ?? 'application/octet-stream', name: uri.split('/').at(-1) || 'resource', data: block.resource.blob };
    }
    default:
      return { type: 'text', text: `[content of an unknown type ${JSON.stringify((block as { type?: unknown }).type)}]` };
  }
}

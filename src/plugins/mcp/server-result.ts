import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/sdk/types.js';
import type { Json } from '../../contracts/json.ts';
import type { ContentPart } from '../../contracts/transcript.ts';
import type { ToolResult } from '../define-plugin.ts';

/**
 * A server's answer as a tool's result. Structured content that comes with nothing but text is the whole answer, since that text is the same once more;
 * code that calls the tool then gets a value.
 */
export function resultOf({ content, structuredContent, isError = false }: CallToolResult): ToolResult {
  const onlyText = content.every(({ type }) => type === 'text');
  // A value that has parts of its own would be taken for parts.
  if (structuredContent && !isError && onlyText && !Array.isArray(structuredContent['content'])) return structuredContent as Json;
  const parts = content.map(partOf);
  if (structuredContent && (!onlyText || parts.length === 0)) parts.push({ type: 'text', text: JSON.stringify(structuredContent) });
  if (parts.length === 0) parts.push({ type: 'text', text: isError ? 'It failed and said nothing.' : 'Done.' });
  const [first] = parts;
  return first?.type === 'text' && parts.length === 1 && !isError ? first.text : { content: parts, isError };
}

function partOf(block: ContentBlock): ContentPart {
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
      if ('text' in block.resource) return { type: 'text', text: `${uri}:\n${block.resource.text}` };
      return { type: 'file', mediaType: mimeType ?? 'application/octet-stream', name: uri.split('/').at(-1) || 'resource', data: block.resource.blob };
    }
    default:
      return { type: 'text', text: `[content of an unknown type ${JSON.stringify((block as { type?: unknown }).type)}]` };
  }
}

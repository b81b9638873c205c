import type { ContentBlock, EmbeddedResource } from '@modelcontextprotocol/client';
import type { ContentPart } from '../../../../contracts/transcript.ts';

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
    case 'resource':
      return partOfResource(block.resource);
    default:
      return { type: 'text', text: `[content of an unknown type ${JSON.stringify((block as { type?: unknown }).type)}]` };
  }
}

function partOfResource(resource: EmbeddedResource['resource']): ContentPart {
  const { uri, mimeType = 'application/octet-stream' } = resource;
  if ('text' in resource) return { type: 'text', text: `${uri}:\n${resource.text}` };
  if (mimeType.startsWith('image/')) return { type: 'image', mediaType: mimeType, data: resource.blob };
  return { type: 'file', mediaType: mimeType, name: uri.split('/').at(-1) || 'resource', data: resource.blob };
}

import type { ContentPart } from '../../../../contracts/transcript.ts';
import type { ToolContext } from '../../../api/tool-context.ts';

type Fetch = ToolContext['fetch'];
type Fields = Record<string, unknown>;

/**
 * Converts message parts as OpenAI defines them to content: a text, one part, a list of parts, or a message that has them as its `content`. An image that is
 * given by a URL is fetched, from the hosts that the plugin may reach.
 * @throws an Error that names the part which cannot be shown.
 */
export async function contentOfParts(given: unknown, fetch: Fetch): Promise<ContentPart[]> {
  const { role, content } = fieldsOf(given);
  if (typeof role === 'string' && content !== undefined) return contentOfParts(content, fetch);
  const parts: unknown[] = Array.isArray(given) ? given : [given];
  return Promise.all(parts.map((part) => contentOfPart(part, fetch)));
}

const READERS: Record<string, (part: Fields, fetch: Fetch) => Promise<ContentPart | undefined>> = {
  text: async ({ text }) => (typeof text === 'string' ? { type: 'text', text } : undefined),
  async image_url({ image_url: image }, fetch) {
    const url = typeof image === 'string' ? image : fieldsOf(image)['url'];
    return typeof url === 'string' ? imageAt(url, fetch) : undefined;
  },
  async input_audio({ input_audio: audio }) {
    const { data, format } = fieldsOf(audio);
    if (typeof data !== 'string' || typeof format !== 'string') return undefined;
    return { type: 'file', mediaType: format === 'mp3' ? 'audio/mpeg' : `audio/${format}`, name: `audio.${format}`, data };
  },
  async file({ file }) {
    const { filename: name = 'file', file_data: url } = fieldsOf(file);
    if (typeof name !== 'string' || typeof url !== 'string' || !url.startsWith('data:')) return undefined;
    const { mediaType, bytes } = readDataUrl(url);
    return { type: 'file', mediaType, name, data: toBase64(bytes) };
  },
};

async function contentOfPart(part: unknown, fetch: Fetch): Promise<ContentPart> {
  if (typeof part === 'string') return { type: 'text', text: part };
  const fields = fieldsOf(part);
  const type = String(fields['type']);
  const read = Object.hasOwn(READERS, type) ? await READERS[type]?.(fields, fetch) : undefined;
  if (read) return read;
  throw new Error(
    `it returned a part of type ${JSON.stringify(fields['type'])} that cannot be shown; known are text, image_url, input_audio and file as OpenAI has them`,
  );
}

async function imageAt(url: string, fetch: Fetch): Promise<ContentPart> {
  if (url.startsWith('data:')) {
    const { mediaType, bytes } = readDataUrl(url);
    return { type: 'image', mediaType, data: toBase64(bytes) };
  }
  const response = await fetch(url);
  if (!response.ok) throw new Error(`the image at ${url} could not be fetched: the server answered ${response.status}`);
  return imageOf(new Uint8Array(await response.arrayBuffer()));
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

export function readDataUrl(url: string): { mediaType: string; bytes: Uint8Array } {
  const [, mediaType = 'text/plain', encoding, data = ''] = /^data:([^;,]*)(?:;[^;,]*?)*?(;base64)?,(.*)$/s.exec(url) ?? [];
  if (encoding === undefined) return { mediaType, bytes: new TextEncoder().encode(decodeURIComponent(data)) };
  return { mediaType, bytes: Uint8Array.from(atob(data), (character) => character.charCodeAt(0)) };
}

const BEGINNINGS: [mediaType: string, bytes: number[]][] = [
  ['image/png', [0x89, 0x50, 0x4e, 0x47]],
  ['image/jpeg', [0xff, 0xd8, 0xff]],
  ['image/gif', [0x47, 0x49, 0x46]],
  ['image/webp', [0x52, 0x49, 0x46, 0x46]],
];

/** @throws an Error for bytes that are no image. */
export function imageOf(bytes: Uint8Array): ContentPart {
  const found = BEGINNINGS.find(([, beginning]) => beginning.every((byte, index) => bytes[index] === byte));
  if (!found) throw new Error('this is no image; PNG, JPEG, GIF and WebP can be shown');
  return { type: 'image', mediaType: found[0], data: toBase64(bytes) };
}

/** Compartments have no Buffer. */
export function toBase64(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}

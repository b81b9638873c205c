import { randomBytes } from 'node:crypto';

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** A PNG of one pixel, followed by as many bytes as wished, which differ from image to image. */
export function png(more = 0): Buffer {
  return Buffer.concat([Buffer.from(PIXEL, 'base64'), randomBytes(more)]);
}

export function dataUrl(mediaType: string, data: Uint8Array): string {
  return `data:${mediaType};base64,${Buffer.from(data).toString('base64')}`;
}

import type { Picture } from './draw-bars.ts';

/** Colours of the pixels 0, 1, 2. */
const PALETTE = [0xff, 0xff, 0xff, 0x2f, 0x6f, 0xb5, 0x22, 0x22, 0x22];
const LARGEST_BLOCK = 65_535;

/** A PNG with a palette, as base64. Nothing in it is compressed: a compartment has no zlib, and charts are small. */
export function encodePng({ width, height, pixels }: Picture): string {
  const rows = new Uint8Array((width + 1) * height);
  // Each row begins with a 0: no filter.
  for (let y = 0; y < height; y += 1) rows.set(pixels.subarray(y * width, (y + 1) * width), y * (width + 1) + 1);
  const header = [...number(width), ...number(height), 8, 3, 0, 0, 0];
  const parts = [
    [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a],
    chunk('IHDR', header),
    chunk('PLTE', PALETTE),
    chunk('IDAT', stored(rows)),
    chunk('IEND', []),
  ];
  return btoa(parts.map((bytes) => text(bytes)).join(''));
}

/** A zlib stream of blocks that are stored as they are. */
function stored(data: Uint8Array): number[] {
  const bytes = [0x78, 0x01];
  for (let at = 0; at < data.length; at += LARGEST_BLOCK) {
    const block = data.subarray(at, at + LARGEST_BLOCK);
    const [low, high] = [block.length & 0xff, block.length >> 8];
    bytes.push(at + LARGEST_BLOCK >= data.length ? 1 : 0, low, high, low ^ 0xff, high ^ 0xff, ...block);
  }
  return [...bytes, ...number(adler32(data))];
}

function chunk(name: string, data: number[]): number[] {
  const named = [...Array.from({ length: name.length }, (_, at) => name.charCodeAt(at)), ...data];
  return [...number(data.length), ...named, ...number(crc32(named))];
}

function number(value: number): number[] {
  return [24, 16, 8, 0].map((shift) => (value >>> shift) & 0xff);
}

function crc32(bytes: number[]): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}

function adler32(bytes: Uint8Array): number {
  let [a, b] = [1, 0];
  for (const byte of bytes) {
    a = (a + byte) % 65_521;
    b = (b + a) % 65_521;
  }
  return ((b << 16) | a) >>> 0;
}

function text(bytes: number[]): string {
  return bytes.map((byte) => String.fromCharCode(byte)).join('');
}

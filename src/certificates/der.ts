/** Writes the parts of DER that certificates need. Our own: `@peculiar/x509` brings 19 packages and 4.9 MB and takes 0.7 s to import, and `node-forge` has no ECDSA. */

export type Der = Buffer;

const CLASS = {
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  utf8: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

export function sequence(...parts: Der[]): Der {
  return element(CLASS.sequence, Buffer.concat(parts));
}

export function setOf(part: Der): Der {
  return element(CLASS.set, part);
}

/** A positive number, given as its bytes. */
export function integer(bytes: Uint8Array): Der {
  const first = bytes.findIndex((byte) => byte !== 0);
  const shortest = first < 0 ? Buffer.of(0) : Buffer.from(bytes.subarray(first));
  return element(CLASS.integer, (shortest[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.of(0), shortest]) : shortest);
}

export function boolean(value: boolean): Der {
  return element(0x01, Buffer.of(value ? 0xff : 0));
}

/** Bits, the first one first. `unused` bits at the end of the last byte do not belong to it. */
export function bitString(bytes: Uint8Array, unused = 0): Der {
  return element(CLASS.bitString, Buffer.concat([Buffer.of(unused), bytes]));
}

export function octetString(bytes: Uint8Array): Der {
  return element(CLASS.octetString, bytes);
}

export function utf8(text: string): Der {
  return element(CLASS.utf8, Buffer.from(text));
}

/** An object identifier such as `2.5.4.3`. */
export function oid(dotted: string): Der {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  return element(CLASS.oid, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

/** A time in seconds. Certificates must write years before 2050 with two digits. */
export function time(moment: Date): Der {
  const text = moment.toISOString().replaceAll(/[-:T]|\.\d+/g, '');
  return moment.getUTCFullYear() < 2050 ? element(CLASS.utcTime, Buffer.from(text.slice(2))) : element(CLASS.generalizedTime, Buffer.from(text));
}

/** A context-specific field with its number. `constructed`: it contains other elements. */
export function context(number: number, content: Uint8Array, { constructed = false } = {}): Der {
  return element(0x80 | (constructed ? 0x20 : 0) | number, content);
}

function element(tag: number, content: Uint8Array): Der {
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  if (length > 0xffff) throw new RangeError(`an element of ${length} bytes`);
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function base128(value: number): number[] {
  const digits = [value & 0x7f];
  for (let rest = value >> 7; rest > 0; rest >>= 7) digits.unshift((rest & 0x7f) | 0x80);
  return digits;
}

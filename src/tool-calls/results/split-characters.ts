/** Splits UTF-8 before an incomplete character at its end. Bytes that can never become a character stay in the first part. */
export function splitCharacters(bytes: Buffer): [whole: Buffer, rest: Buffer] {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const cut = lengthOf(byte) > back ? bytes.length - back : bytes.length;
    return [bytes.subarray(0, cut), bytes.subarray(cut)];
  }
  return [bytes, bytes.subarray(bytes.length)];
}

/** Bytes of the character that starts with this one. */
function lengthOf(lead: number): number {
  if (lead >= 0xf0 && lead <= 0xf4) return 4;
  if (lead >= 0xe0 && lead < 0xf0) return 3;
  return lead >= 0xc2 && lead < 0xe0 ? 2 : 1;
}

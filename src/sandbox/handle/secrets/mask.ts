const STAR = 0x2a;
/** Shorter values would match unrelated text. */
const SHORTEST = 4;
/** The shortest part of a secret at an edge that is masked. */
const SHORTEST_PART = 3;

/** Replaces secrets with stars, byte for byte, so that sizes and offsets do not change. */
export interface Mask {
  all(bytes: Buffer): Buffer;
  /** So many bytes on each side of a part have to be known for a secret that is cut there to be found. */
  margin: number;
  text(text: string): string;
  /** Masks the head and the tail of a text whose middle was left out; a secret may have been cut there. */
  edges(head: string, tail: string): { head: string; tail: string };
  stream(): MaskedStream;
}
/** Holds back what may be the beginning of a secret until more output arrives. */
export interface MaskedStream {
  push(chunk: Buffer): Buffer;
  /** Returns what was held back. */
  end(): Buffer;
}

/** Secrets of less than four characters are not masked. A secret is found as it is, in its JSON forms, and by its lines of at least eight characters. */
export function createMask(secrets: string[]): Mask {
  const forms = secrets.flatMap((secret) => [secret, ...jsonFormsOf(secret), ...secret.split('\n').filter((line) => line.length >= 2 * SHORTEST)]);
  const patterns = [...new Set(forms)].filter((form) => form.length >= SHORTEST).map((form) => Buffer.from(form));
  const all = (bytes: Buffer): Buffer => maskAll(bytes, patterns);
  const text = (plain: string): string => (patterns.length === 0 ? plain : all(Buffer.from(plain)).toString());
  return {
    all,
    margin: Math.max(0, ...patterns.map((pattern) => pattern.length - 1)),
    text,
    edges(head, tail) {
      const [start, end] = [Buffer.from(head), Buffer.from(tail)];
      const cutStart = longestPart(patterns, (part, of) => endsWith(start, of.subarray(0, part)));
      const cutEnd = longestPart(patterns, (part, of) => end.subarray(0, part).equals(of.subarray(of.length - part)));
      const [shownStart, shownEnd] = [Buffer.from(all(start)), Buffer.from(all(end))];
      if (cutStart >= SHORTEST_PART) shownStart.fill(STAR, start.length - cutStart);
      if (cutEnd >= SHORTEST_PART) shownEnd.fill(STAR, 0, cutEnd);
      return { head: shownStart.toString(), tail: shownEnd.toString() };
    },
    stream: () => createStream(patterns),
  };
}

/** The second one is Python's, which escapes all characters beyond ASCII. */
function jsonFormsOf(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  return [json, json.replaceAll(/[\u007F-\uFFFF]/g, (unit) => (unit === '\u007F' ? unit : `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`))];
}

function createStream(patterns: Buffer[]): MaskedStream {
  let held = { raw: Buffer.alloc(0), shown: Buffer.alloc(0) };
  return {
    push(chunk) {
      const raw = Buffer.concat([held.raw, chunk]);
      const shown = Buffer.from(maskAll(raw, patterns));
      // Bytes that were masked as part of one secret stay masked while they are held back as the possible beginning of another.
      for (const [index, byte] of held.shown.entries()) if (byte !== held.raw[index]) shown[index] = STAR;
      const kept = raw.length - longestPart(patterns, (part, of) => part < of.length && endsWith(raw, of.subarray(0, part)));
      held = { raw: raw.subarray(kept), shown: shown.subarray(kept) };
      return shown.subarray(0, kept);
    },
    end() {
      const { shown } = held;
      held = { raw: Buffer.alloc(0), shown: Buffer.alloc(0) };
      return shown;
    },
  };
}

function maskAll(bytes: Buffer, patterns: Buffer[]): Buffer {
  let shown = bytes;
  for (const pattern of patterns) {
    for (let at = bytes.indexOf(pattern); at >= 0; at = bytes.indexOf(pattern, at + 1)) {
      if (shown === bytes) shown = Buffer.from(bytes);
      shown.fill(STAR, at, at + pattern.length);
    }
  }
  return shown;
}

function longestPart(patterns: Buffer[], fits: (part: number, of: Buffer) => boolean): number {
  let longest = 0;
  for (const pattern of patterns) {
    for (let part = pattern.length; part > longest; part -= 1) if (fits(part, pattern)) longest = part;
  }
  return longest;
}

function endsWith(bytes: Buffer, end: Buffer): boolean {
  return bytes.length >= end.length && bytes.subarray(bytes.length - end.length).equals(end);
}

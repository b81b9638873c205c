import type { ByteReader } from '../http/byte-reader.ts';

export type Hello = { serverName: string | undefined } | { problem: string };

export const HANDSHAKE = 0x16;
const RECORD_HEADER = 5;
const MAX_RECORD = 16_384;
const MAX_HELLO = 65_536;
const MESSAGE_HEADER = 4;
const NO_HELLO = 'its first message is not a TLS ClientHello';
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;
const HOST_NAME = 0;

/** Reads the server name in a TLS ClientHello, which may span several records. Takes nothing out of the reader. */
export async function peekClientHello(reader: ByteReader): Promise<Hello> {
  const pieces: Buffer[] = [];
  let gathered = 0;
  for (let at = 0; ;) {
    const record = await peekRecord(reader, at);
    if ('problem' in record) return record;
    at += RECORD_HEADER + record.content.length;
    pieces.push(record.content);
    gathered += record.content.length;
    const size = sizeOf(pieces);
    if (size !== undefined && gathered >= size) return parseHello(Buffer.concat(pieces).subarray(0, size));
    if (at > MAX_HELLO || (size ?? 0) > MAX_HELLO) return { problem: `its first message takes more than ${MAX_HELLO} bytes` };
  }
}

async function peekRecord(reader: ByteReader, at: number): Promise<{ content: Buffer } | { problem: string }> {
  if (!(await reader.atLeast(at + RECORD_HEADER))) return { problem: 'it ends within its first message' };
  const header = reader.held.subarray(at, at + RECORD_HEADER);
  const length = header.readUInt16BE(3);
  if (header[0] !== HANDSHAKE || header[1] !== 3 || length === 0 || length > MAX_RECORD) return { problem: NO_HELLO };
  const end = at + RECORD_HEADER + length;
  if (!(await reader.atLeast(end))) return { problem: 'it ends within its first message' };
  return { content: Buffer.from(reader.held.subarray(end - length, end)) };
}

/** Size of the whole message; undefined until its header has arrived. */
function sizeOf(pieces: Buffer[]): number | undefined {
  // Joins pieces only until the first one contains the header.
  while (pieces.length > 1 && (pieces[0]?.length ?? 0) < MESSAGE_HEADER) pieces.splice(0, 2, Buffer.concat(pieces.slice(0, 2)));
  const [first] = pieces;
  return first && first.length >= MESSAGE_HEADER ? MESSAGE_HEADER + first.readUIntBE(1, 3) : undefined;
}

function parseHello(message: Buffer): Hello {
  try {
    const fields = new Fields(message);
    if (fields.number(1) !== CLIENT_HELLO) return { problem: NO_HELLO };
    fields.skip(3 + 2 + 32);
    fields.vector(1);
    fields.vector(2);
    fields.vector(1);
    return fields.isEmpty ? { serverName: undefined } : nameIn(new Fields(fields.vector(2)));
  } catch (error) {
    if (error instanceof Malformed) return { problem: NO_HELLO };
    throw error;
  }
}

function nameIn(extensions: Fields): Hello {
  const names: string[] = [];
  while (!extensions.isEmpty) {
    const type = extensions.number(2);
    const content = new Fields(extensions.vector(2));
    if (type !== SERVER_NAME) continue;
    for (const list = new Fields(content.vector(2)); !list.isEmpty;) {
      if (list.number(1) !== HOST_NAME) return { problem: 'it asks for a name of an unknown kind' };
      names.push(list.vector(2).toString('latin1'));
    }
    if (!content.isEmpty) throw new Malformed('something behind the names');
  }
  return names.length > 1 ? { problem: 'it asks for more than one name' } : { serverName: names[0] };
}

class Malformed extends Error {}

/** Reads numbers and vectors one after the other. Throws `Malformed` when too few bytes are left. */
class Fields {
  #at = 0;
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isEmpty(): boolean {
    return this.#at >= this.#bytes.length;
  }

  number(size: number): number {
    const start = this.#at;
    this.skip(size);
    return this.#bytes.readUIntBE(start, size);
  }

  skip(count: number): void {
    if (this.#at + count > this.#bytes.length) throw new Malformed('too short');
    this.#at += count;
  }

  vector(sizeBytes: number): Buffer {
    const length = this.number(sizeBytes);
    const start = this.#at;
    this.skip(length);
    return this.#bytes.subarray(start, this.#at);
  }
}

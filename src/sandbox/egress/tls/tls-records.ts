import { Transform } from 'node:stream';

const HEADER = 5;
const FIRST_TYPE = 20;
const LAST_TYPE = 24;
/** The longest encrypted record of TLS 1.2. */
const MAX_RECORD = 16_384 + 2048;

/** Passes TLS records and fails at anything else, so that a tunnel that began as TLS stays TLS. The encrypted content of the records is not checked. */
export function tlsRecords(onFault: () => void): Transform {
  const header = Buffer.alloc(HEADER);
  let filled = 0;
  let left = 0;
  const isFine = (chunk: Buffer): boolean => {
    for (let at = 0; at < chunk.length;) {
      if (left > 0) {
        const step = Math.min(left, chunk.length - at);
        left -= step;
        at += step;
        continue;
      }
      const step = chunk.copy(header, filled, at, at + HEADER - filled);
      filled += step;
      at += step;
      if (!isHeader(header, filled)) return false;
      if (filled < HEADER) continue;
      left = header.readUInt16BE(3);
      filled = 0;
    }
    return true;
  };
  return new Transform({
    allowHalfOpen: true,
    transform(chunk: Buffer, _encoding, done) {
      if (isFine(chunk)) return done(null, chunk);
      onFault();
      return done(new Error('this is not TLS'));
    },
  });
}

function isHeader(header: Buffer, filled: number): boolean {
  const [type = 0, major = 0] = header;
  if (type < FIRST_TYPE || type > LAST_TYPE) return false;
  return (filled < 2 || major === 3) && (filled < HEADER || header.readUInt16BE(3) <= MAX_RECORD);
}

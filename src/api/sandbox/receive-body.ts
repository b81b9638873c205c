import type { IncomingMessage } from 'node:http';
import { inTime } from '../../common/in-time.ts';
import { failure } from '../../contracts/errors.ts';

/** A sender that sends nothing for so long is given up. */
const STALLED_MS = 60_000;
/** More than any sandbox may hold; a body without end stops here. */
export const MOST_BYTES = 16 * 1024 ** 3;

/** The body of a request as it comes. @throws BODY_TOO_LARGE, INVALID_ARGUMENT when it stops to come */
export async function* receiveBody(request: IncomingMessage, most = MOST_BYTES): AsyncGenerator<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > most) throw failure('BODY_TOO_LARGE', { limit: most });
  // The answer to a body that is refused goes over the same connection, so the request must not be destroyed.
  const chunks = request.iterator({ destroyOnReturn: false });
  const late = () => failure('INVALID_ARGUMENT', { what: 'body', problem: 'nothing more of it came for a minute', fix: 'Send it again' });
  let received = 0;
  for (;;) {
    const next = (await inTime(chunks.next(), STALLED_MS, late)) as IteratorResult<Buffer>;
    if (next.done) return;
    received += next.value.length;
    if (received > most) throw failure('BODY_TOO_LARGE', { limit: most });
    yield next.value;
  }
}

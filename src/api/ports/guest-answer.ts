import { request as httpRequest, type ClientRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';
import { failure, isFailure } from '../../contracts/errors.ts';
import { HEAD_BYTES } from '../http/limits.ts';

/** What a guest answers. `upgraded`: the connection, if it has become a WebSocket, and what has come of it. */
export interface GuestAnswer {
  answer: IncomingMessage;
  upgraded?: { head: Buffer };
}

interface Asked {
  connection: Duplex;
  method: string;
  path: string;
  headers: OutgoingHttpHeaders;
}

/** Time for the head of an answer, after all of the request was sent. */
const HEAD_MS = 120_000;
const LEAST_STATUS = 100;

/** A request over a connection to a guest. Node.js writes it and reads its answer: a guest may answer anything. */
export function requestOver({ connection, method, path, headers }: Asked): ClientRequest {
  const sent = httpRequest({ createConnection: () => connection, method, path, headers, setHost: false, maxHeaderSize: HEAD_BYTES, insecureHTTPParser: false });
  // The size of the head is limited, and no header is left out.
  sent.maxHeadersCount = 0;
  return sent;
}

/** @throws PORT_FAILED, and what has broken the connection */
export async function answerTo(sent: ClientRequest, of: { port: number; sandboxId: string }): Promise<GuestAnswer> {
  let timer: NodeJS.Timeout | undefined;
  const limitHead = (): void => {
    timer = setTimeout(() => sent.destroy(failure('PORT_FAILED', { ...of, problem: `none came within ${HEAD_MS / 1000} s` })), HEAD_MS);
  };
  try {
    return await new Promise<GuestAnswer>((resolve, reject) => {
      sent.once('response', (answer: IncomingMessage) => {
        const { statusCode = 0 } = answer;
        // Node.js reads any three digits, and writes no status below this.
        if (statusCode < LEAST_STATUS) sent.destroy(failure('PORT_FAILED', { ...of, problem: `its status is ${statusCode}, which HTTP does not have` }));
        else resolve({ answer });
      });
      sent.once('upgrade', (answer: IncomingMessage, _connection: Duplex, head: Buffer) => resolve({ answer, upgraded: { head } }));
      sent.once('finish', limitHead);
      sent.on('error', (error: NodeJS.ErrnoException) =>
        reject(isFailure(error) ? error : failure('PORT_FAILED', { ...of, problem: problemOf(error) }, error)),
      );
      sent.once('close', () => reject(failure('PORT_FAILED', { ...of, problem: 'it closed the connection' })));
    });
  } finally {
    clearTimeout(timer);
    // A guest may answer before it has been sent everything.
    sent.off('finish', limitHead);
  }
}

function problemOf({ code = '', message }: NodeJS.ErrnoException): string {
  if (code === 'HPE_HEADER_OVERFLOW') return `its head has more than ${HEAD_BYTES} bytes`;
  if (code.startsWith('HPE_')) return 'it is no HTTP/1.1';
  return code === 'ECONNRESET' ? 'it closed the connection' : message;
}

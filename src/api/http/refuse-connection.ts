import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { failure, type LongshoreError } from '../../contracts/errors.ts';
import { HEAD_BYTES, HEAD_MS } from './limits.ts';
import { problemOf } from './problem.ts';

/** Answers what is no request, before any route could: with a problem, as all refusals, and the end of the connection. */
export function refuseConnection(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  const { problem } = problemOf(failureOf(error.code), { id: randomUUID() });
  const body = JSON.stringify(problem);
  const head = [`HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}`, 'content-type: application/problem+json', 'connection: close'];
  // Behind another answer on the same connection, which may not have ended yet, it would be taken for a part of that.
  if (socket.writable && socket.bytesWritten === 0) socket.end([...head, `content-length: ${Buffer.byteLength(body)}`, '', body].join('\r\n'));
  // What the caller goes on sending is not read.
  socket.destroySoon();
}

function failureOf(code: string | undefined): LongshoreError {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return failure('REQUEST_TIMEOUT', { seconds: HEAD_MS / 1000 });
  if (code === 'HPE_HEADER_OVERFLOW') return failure('HEADERS_TOO_LARGE', { limit: HEAD_BYTES });
  return failure('INVALID_ARGUMENT', { what: 'request', problem: 'it is no HTTP/1.1', fix: 'Use a client of HTTP, and correct the headers' });
}

import type { OutgoingHttpHeaders } from 'node:http';
import type { FastifyReply } from 'fastify';
import { failure } from '../../contracts/errors.ts';
import { ask, download } from '../../hosts/client/exchanges.ts';
import type { HostClient, Target } from '../../hosts/client/host-client.ts';
import type { FileInfo } from '../../sandbox/api/files.ts';
import { dispositionOf } from '../http/content-disposition.ts';
import { STREAM_TIMES } from '../stream/stream-times.ts';
import { writeInTime } from '../stream/write-in-time.ts';
import { partOf, type Part } from './file-range.ts';

interface Wanted {
  target: Target;
  path: string;
  headers: { range?: string | undefined; 'if-range'?: string | undefined };
  /** Aborts when the reader has gone. */
  signal: AbortSignal;
}

/** Sends a file, or the part that `range` asks for. Keeps some pieces of it in memory, however long it is. */
export async function sendFile(hosts: HostClient, { target, path, headers, signal }: Wanted, reply: FastifyReply): Promise<void> {
  const part = await partWanted(hosts, { target, path, headers, signal }, reply);
  const bounds = part && { offset: part.first, maxBytes: part.last - part.first + 1 };
  const { answer, content } = await download(hosts, target, { do: 'files.read', path, ...bounds }, signal);
  const info = answer as unknown as FileInfo;
  if (info.type === 'directory') throw failure('FILE_FAILED', { path, problem: 'it is a directory; list it with ?list' });
  // The first piece shows whether the file can be read at all.
  const first = await content.next();
  reply.hijack();
  // A link says nothing about the size of its file.
  const length = part ? part.last - part.first + 1 : info.type === 'file' ? info.size : undefined;
  reply.raw.writeHead(part ? 206 : 200, { ...(reply.getHeaders() as OutgoingHttpHeaders), ...headOf(info, part, length) });
  const send = (piece: Buffer) => writeInTime(reply.raw, piece, { signal, stalledMs: STREAM_TIMES.stalledMs });
  await sendPieces(reply, { first, content, told: length }, send).catch((error: unknown) => {
    reply.log.info({ err: error, request: reply.request.id }, 'a download was broken off');
    reply.raw.destroy();
  });
}

/** The part that the reader asks for, if it asks for one and the file is still the one of which it has the rest. */
async function partWanted(hosts: HostClient, { target, path, headers, signal }: Wanted, reply: FastifyReply): Promise<Part | undefined> {
  const { range } = headers;
  if (range === undefined) return undefined;
  const info = (await ask(hosts, target, { do: 'files.info', path }, signal)) as unknown as FileInfo;
  const etag = etagOf(info);
  const part = info.type === 'file' && (headers['if-range'] ?? etag) === etag ? partOf(range, info.size) : undefined;
  if (part !== 'unsatisfiable') return part;
  void reply.header('content-range', `bytes */${info.size}`);
  throw failure('RANGE_INVALID', { range, size: info.size });
}

/** @throws when the reader has gone, or the content is not as long as was told */
async function sendPieces(
  { raw }: FastifyReply,
  { first, content, told }: { first: IteratorResult<Buffer, void>; content: AsyncIterable<Buffer>; told: number | undefined },
  write: (piece: Buffer) => Promise<void>,
): Promise<void> {
  let sent = 0;
  const send = async (piece: Buffer) => {
    sent += piece.length;
    await write(piece);
    if (raw.destroyed) throw new Error('the reader has gone');
  };
  if (!first.done) await send(first.value);
  for await (const piece of content) await send(piece);
  if (told !== undefined && told !== sent) throw new Error(`the file has ${sent} bytes now, and not ${told}`);
  raw.end();
}

/** What a guest has written must never run as a page of the service. */
function headOf(info: FileInfo, part: Part | undefined, length: number | undefined) {
  return {
    'content-type': 'application/octet-stream',
    'content-disposition': dispositionOf(info.path.slice(info.path.lastIndexOf('/') + 1)),
    'content-security-policy': "sandbox; default-src 'none'",
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    'last-modified': new Date(info.modifiedAt).toUTCString(),
    ...(length !== undefined && { 'content-length': length, etag: etagOf(info), 'accept-ranges': 'bytes' }),
    ...(part && { 'content-range': `bytes ${part.first}-${part.last}/${info.size}` }),
  };
}

function etagOf({ size, changedAt }: FileInfo): string {
  return `"${size}-${Date.parse(changedAt)}"`;
}

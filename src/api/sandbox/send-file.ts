import type { OutgoingHttpHeaders } from 'node:http';
import type { FastifyReply } from 'fastify';
import { anySignal } from '../../common/any-signal.ts';
import { failure } from '../../contracts/errors.ts';
import { ask, download } from '../../hosts/client/exchanges.ts';
import type { HostClient, Target } from '../../hosts/client/host-client.ts';
import type { FileInfo } from '../../sandbox/api/files.ts';
import { dispositionOf } from '../http/content-disposition.ts';
import { STREAM_TIMES } from '../stream/stream-times.ts';
import { writeInTime } from '../stream/write-in-time.ts';
import { partOf, type Part } from './file-range.ts';

/** A file that is written while a part of it is read is read again. */
const ATTEMPTS = 3;

interface Wanted {
  target: Target;
  path: string;
  headers: { range?: string | undefined; 'if-range'?: string | undefined };
  /** Aborts when the reader has gone. */
  signal: AbortSignal;
}

/** Sends a file, or the part that `range` asks for. Keeps some pieces of it in memory, however long it is. */
export async function sendFile(hosts: HostClient, { target, path, headers, signal }: Wanted, reply: FastifyReply): Promise<void> {
  const { info, part, first, content } = await openFile(hosts, { target, path, headers, signal }, reply);
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

interface Opened {
  info: FileInfo;
  part: Part | undefined;
  /** The first piece shows whether the file can be read at all. */
  first: IteratorResult<Buffer, void>;
  content: AsyncGenerator<Buffer>;
}

/** @throws FILE_CHANGED when each part was of another file than the one that was measured for it */
async function openFile(hosts: HostClient, wanted: Wanted, reply: FastifyReply): Promise<Opened> {
  const { target, path } = wanted;
  for (let attempt = 1; ; attempt += 1) {
    const measured = await partWanted(hosts, wanted, reply);
    const { part } = measured ?? {};
    const bounds = part && { offset: part.first, maxBytes: part.last - part.first + 1 };
    const leaving = new AbortController();
    const { answer, content } = await download(hosts, target, { do: 'files.read', path, ...bounds }, anySignal([wanted.signal, leaving.signal]));
    const info = answer as unknown as FileInfo;
    if (info.type === 'directory') throw failure('FILE_FAILED', { path, problem: 'it is a directory; list it with ?list' });
    const first = await content.next();
    // The reader puts the part together with what it has of the file that was measured. All pieces are of the same file as the first one.
    if (!measured || etagOf(await infoOf(hosts, wanted)) === measured.etag) return { info, part, first, content };
    leaving.abort();
    if (attempt === ATTEMPTS) throw failure('FILE_CHANGED', { path, problem: `it changed during each of the ${ATTEMPTS} attempts to read a part of it` });
  }
}

/** The part that the reader asks for, if it asks for one and the file is still the one of which it has the rest. */
async function partWanted(hosts: HostClient, wanted: Wanted, reply: FastifyReply): Promise<{ part: Part; etag: string } | undefined> {
  const { range, 'if-range': known } = wanted.headers;
  if (range === undefined) return undefined;
  const info = await infoOf(hosts, wanted);
  const etag = etagOf(info);
  // What says that it is empty may be a file of the kernel, whose size is not known.
  const part = info.type === 'file' && info.size > 0 && (known ?? etag) === etag ? partOf(range, info.size) : undefined;
  if (part !== 'unsatisfiable') return part && { part, etag };
  void reply.header('content-range', `bytes */${info.size}`);
  throw failure('RANGE_INVALID', { range, size: info.size });
}

async function infoOf(hosts: HostClient, { target, path, signal }: Wanted): Promise<FileInfo> {
  return (await ask(hosts, target, { do: 'files.info', path }, signal)) as unknown as FileInfo;
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

import type { Duplex } from 'node:stream';
import { encodeFrame, encodeHeader, FrameReader, FRAMES, LIMITS, type Frame } from './frames.ts';
import { findProblem, parseFailure, parseMessage } from './validate-messages.ts';
import type { OpenCall, StreamName } from './call.ts';
import { failure } from '../../contracts/errors.ts';
import { translateFailure } from './protocol-failures.ts';
import { ProtocolBreach } from './protocol-breach.ts';
import { Feed } from './feed.ts';

/** From this size on, copying the payload takes longer than a second write. Bytes. */
const WORTH_SPARING = 16_384;

/** How a link ended. `broken`: it is replaced. `breach`: the supervisor broke the protocol, and no further link is opened. */
export type LinkEnd = { reason: 'broken'; problem: string } | { reason: 'breach'; problem: string };

/** One open stream to the supervisor with its calls. */
export interface Link {
  /** `isFirst`: the call was never sent before, on any link. */
  send(call: OpenCall, isFirst?: boolean): void;
  /** Detaches from a call. Frames that still arrive for it are ignored. */
  cancel(call: OpenCall): void;
  close(problem: string): void;
  readonly calls: ReadonlyMap<number, OpenCall>;
  /** Time (of `performance.now()`) at which data last arrived, or at which a call was sent while no other was open. */
  heardAt(): number;
}

interface LinkOptions {
  stream: Duplex;
  sandboxId: string;
  /** Called once, with the calls that have not ended. */
  onEnd: (end: LinkEnd, calls: OpenCall[]) => void;
}

/** Speaks the protocol over one stream. What arrives is untrusted and checked. */
export function openLink({ stream, sandboxId, onEnd }: LinkOptions): Link {
  const calls = new Map<number, OpenCall>();
  let nextChannel = 1;
  let heardAt = performance.now();
  let ended = false;

  const end = (how: LinkEnd): void => {
    if (ended) return;
    ended = true;
    stream.destroy();
    const left = [...calls.values()];
    for (const open of left) open.feed?.stop();
    calls.clear();
    onEnd(how, left);
  };
  const writeGathered = gatherWrites(stream);
  const write = (type: number, channel: number, payload: Uint8Array | string): void => {
    if (!ended) writeGathered({ type, channel, payload });
  };
  const reader = new FrameReader((frame) => {
    if (!ended) takeFrame(frame, { calls, write, sandboxId, highest: nextChannel });
  });
  stream.on('data', (chunk: Buffer) => {
    heardAt = performance.now();
    try {
      reader.push(chunk);
    } catch (error) {
      if (!(error instanceof ProtocolBreach)) throw error;
      end({ reason: 'breach', problem: error.message });
    }
  });
  onBreak(stream, (problem) => end({ reason: 'broken', problem }));

  return {
    calls,
    heardAt: () => heardAt,
    close: (problem) => end({ reason: 'broken', problem }),
    send(open, isFirst = false) {
      const fields = open.call.fields();
      const request = JSON.stringify({ operation: open.call.operation, ...fields });
      const problem = findProblem(open.call.operation, 'request', fields) ?? (request.length > LIMITS.frameBytes / 3 ? findSizeProblem(request) : undefined);
      if (problem !== undefined) {
        open.fail(failure('INVALID_ARGUMENT', { what: 'The request to the sandbox', problem, fix: 'Correct the argument' }));
        return;
      }
      const channel = nextChannel++;
      Object.assign(open, { owed: 0, window: LIMITS.windowBytes, position: -1, credit: LIMITS.windowBytes });
      calls.set(channel, open);
      if (calls.size === 1) heardAt = performance.now();
      write(FRAMES.request, channel, request);
      if (isFirst && open.call.isUploadAhead) sendUpload(channel, Object.assign(open, { position: 0 }), { write });
    },
    cancel(open) {
      for (const [channel, other] of calls) {
        if (other !== open) continue;
        calls.delete(channel);
        write(FRAMES.cancel, channel, '');
      }
    },
  };
}

/** Tells when a stream ends or breaks, possibly several times; also of one that is broken already and does not say it again. */
function onBreak(stream: Duplex, tell: (problem: string) => void): void {
  stream.on('error', (error: Error) => tell(error.message));
  stream.on('close', () => tell('the stream closed'));
  stream.on('end', () => tell('the stream ended'));
  if (stream.destroyed) queueMicrotask(() => tell(stream.errored?.message ?? 'the stream closed'));
}

/** Makes one write of all frames that are sent together: each write has to wake the engine, and what reads from it. */
function gatherWrites(stream: Duplex): (frame: SentFrame) => void {
  let gathers = false;
  return (frame) => {
    if (!gathers) {
      gathers = true;
      stream.cork();
      process.nextTick(() => {
        gathers = false;
        stream.uncork();
      });
    }
    writeFrame(stream, frame);
  };
}

interface SentFrame {
  type: number;
  channel: number;
  payload: Uint8Array | string;
}

function writeFrame(stream: Duplex, { type, channel, payload }: SentFrame): void {
  if (payload.length < WORTH_SPARING) {
    stream.write(encodeFrame(type, channel, payload));
    return;
  }
  // Without copying a large payload.
  stream.write(encodeHeader(type, channel, Buffer.byteLength(payload)));
  stream.write(payload);
}

interface Taking {
  calls: Map<number, OpenCall>;
  write(type: number, channel: number, payload: Uint8Array | string): void;
  sandboxId: string;
  highest: number;
}

function takeFrame(frame: Frame, taking: Taking): void {
  const open = taking.calls.get(frame.channel);
  if (open === undefined) {
    // The call was cancelled while the frame was on its way.
    if (frame.channel > 0 && frame.channel < taking.highest) return;
    throw new ProtocolBreach('a frame on a channel that was never opened');
  }
  open.attempts = 0;
  try {
    dispatch(frame, open, taking);
  } catch (error) {
    if (error instanceof ProtocolBreach) throw error;
    // A function of the caller threw: this ends only this call.
    abandon(frame.channel, open, error, taking);
  }
}

function dispatch(frame: Frame, open: OpenCall, taking: Taking): void {
  switch (frame.type) {
    case FRAMES.data:
      return takeData(frame, open, 'stdout', taking);
    case FRAMES.errorData:
      return takeData(frame, open, 'stderr', taking);
    case FRAMES.reply:
      return takeReply(frame, open, taking);
    case FRAMES.credit:
      return takeCredit(frame, open, taking);
    case FRAMES.end: {
      open.finish(frame.payload);
      taking.calls.delete(frame.channel);
      return undefined;
    }
    case FRAMES.error: {
      const refused = parseFailure(frame.payload);
      taking.calls.delete(frame.channel);
      return open.fail(translateFailure(refused, open.call.fields(), taking.sandboxId));
    }
    default:
      throw new ProtocolBreach(`a frame of unknown type ${frame.type}`);
  }
}

function takeReply(frame: Frame, open: OpenCall, taking: Taking): void {
  const { operation, upload } = open.call;
  const reply = parseMessage(operation, 'reply', frame.payload);
  if (typeof upload === 'function') return startFeed(frame.channel, upload(), open, taking);
  if (upload && 'accepted' in reply) open.position = Math.max(open.position, Math.min(reply.accepted, upload.byteLength));
  return sendUpload(frame.channel, open, taking);
}

function takeCredit(frame: Frame, open: OpenCall, taking: Taking): void {
  if (frame.payload.length !== 4) throw new ProtocolBreach('a credit that is not a number');
  open.credit = Math.min(open.credit + frame.payload.readUInt32BE(0), LIMITS.windowBytes);
  open.feed?.advance();
  return sendUpload(frame.channel, open, taking);
}

function takeData(frame: Frame, open: OpenCall, stream: StreamName, taking: Taking): void {
  const size = frame.payload.length;
  open.window -= size;
  if (open.window < 0 || size > LIMITS.chunkBytes || !open.call.onData) throw new ProtocolBreach('data that was not asked for');
  const giveCredit = (): void => {
    if (taking.calls.get(frame.channel) !== open) return;
    open.owed += size;
    if (open.owed < LIMITS.windowBytes / 2) return;
    const credit = Buffer.allocUnsafe(4);
    credit.writeUInt32BE(open.owed);
    open.window += open.owed;
    open.owed = 0;
    taking.write(FRAMES.credit, frame.channel, credit);
  };
  const taken = open.call.onData(frame.payload, stream);
  if (isPromise(taken)) taken.then(giveCredit, (error: unknown) => abandon(frame.channel, open, error, taking));
  else giveCredit();
}

/** Cancels one call with an error that the supervisor did not send. */
function abandon(channel: number, open: OpenCall, error: unknown, taking: Pick<Taking, 'calls' | 'write'>): void {
  if (taking.calls.delete(channel)) taking.write(FRAMES.cancel, channel, '');
  open.fail(error);
}

function sendUpload(channel: number, open: OpenCall, taking: Pick<Taking, 'write'>): void {
  const { upload } = open.call;
  if (!upload || typeof upload === 'function' || open.position < 0) return;
  while (open.credit > 0 && open.position < upload.byteLength) {
    const size = Math.min(open.credit, LIMITS.chunkBytes, upload.byteLength - open.position);
    taking.write(FRAMES.data, channel, upload.subarray(open.position, open.position + size));
    open.position += size;
    open.credit -= size;
  }
}

function startFeed(channel: number, source: AsyncIterable<Uint8Array>, open: OpenCall, taking: Taking): void {
  open.feed?.stop();
  open.feed = new Feed(source, {
    credit: () => open.credit,
    send(chunk) {
      open.credit -= chunk.byteLength;
      taking.write(FRAMES.data, channel, chunk);
    },
    fail: (error) => abandon(channel, open, error, taking),
  });
}

function findSizeProblem(request: string): string | undefined {
  const size = Buffer.byteLength(request) + 16;
  return size > LIMITS.frameBytes ? `it is ${size} bytes long, more than ${LIMITS.frameBytes}` : undefined;
}

/** A caller's function may return anything. */
function isPromise(value: unknown): value is Promise<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value;
}

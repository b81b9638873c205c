import { PROTOCOL } from './protocol.ts';
import { ProtocolBreach } from './protocol-breach.ts';

export const PROTOCOL_VERSION = PROTOCOL.version;
export const LIMITS = PROTOCOL.limits;
export const FRAMES = PROTOCOL.frames;

const HEADER_BYTES = 9;
const LENGTH_BYTES = 4;

export interface Frame {
  type: number;
  channel: number;
  payload: Buffer;
}

/** The header of a frame: length, type, channel. */
export function encodeHeader(type: number, channel: number, size: number): Buffer {
  return writeHeader(Buffer.allocUnsafe(HEADER_BYTES), { type, channel, size });
}

/** A whole frame: header and payload. */
export function encodeFrame(type: number, channel: number, payload: Uint8Array | string): Buffer {
  const size = typeof payload === 'string' ? Buffer.byteLength(payload) : payload.byteLength;
  const frame = writeHeader(Buffer.allocUnsafe(HEADER_BYTES + size), { type, channel, size });
  if (typeof payload === 'string') frame.write(payload, HEADER_BYTES);
  else frame.set(payload, HEADER_BYTES);
  return frame;
}

function writeHeader(into: Buffer, { type, channel, size }: { type: number; channel: number; size: number }): Buffer {
  into.writeUInt32BE(size + HEADER_BYTES - LENGTH_BYTES, 0);
  into.writeUInt8(type, 4);
  into.writeUInt32BE(channel, 5);
  return into;
}

/** Splits a stream of bytes into frames. Never holds more than one frame and one chunk. */
export class FrameReader {
  private readonly onFrame: (frame: Frame) => void;
  private pending: Buffer[] = [];
  private pendingBytes = 0;
  /** Bytes that must be pending before the next frame can be complete. */
  private needed = HEADER_BYTES;

  constructor(onFrame: (frame: Frame) => void) {
    this.onFrame = onFrame;
  }

  /** Throws a `ProtocolBreach` for a length that the protocol does not allow. */
  push(chunk: Buffer): void {
    this.pending.push(chunk);
    this.pendingBytes += chunk.length;
    if (this.pendingBytes < this.needed) return;
    const buffer = this.pending.length === 1 ? chunk : Buffer.concat(this.pending, this.pendingBytes);
    let position = 0;
    this.needed = HEADER_BYTES;
    while (buffer.length - position >= HEADER_BYTES) {
      const length = buffer.readUInt32BE(position);
      if (length < HEADER_BYTES - LENGTH_BYTES || length > LIMITS.frameBytes) throw new ProtocolBreach(`a frame of ${length} bytes`);
      const end = position + LENGTH_BYTES + length;
      if (end > buffer.length) {
        this.needed = end - position;
        break;
      }
      this.onFrame({
        type: buffer.readUInt8(position + 4),
        channel: buffer.readUInt32BE(position + 5),
        payload: buffer.subarray(position + HEADER_BYTES, end),
      });
      position = end;
    }
    this.pending = position < buffer.length ? [buffer.subarray(position)] : [];
    this.pendingBytes = buffer.length - position;
  }
}

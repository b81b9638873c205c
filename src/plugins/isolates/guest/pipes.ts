import { writeSync } from 'node:fs';
import { Socket, type OnReadOpts, type SocketConstructorOpts } from 'node:net';

const [STDIN, STDOUT] = [0, 1];
const CHUNK_BYTES = 64 * 1024;

/**
 * Reads what the worker sends into one buffer: a chunk is valid until the callback returns. The platform's own stream makes a new buffer for every
 * message, which costs as much as the rest of a small call.
 */
export function readPipe(onChunk: (chunk: Buffer) => void, onEnd: () => void): void {
  const buffer = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  const take = (size: number): boolean => {
    onChunk(buffer.subarray(0, size));
    return true;
  };
  const options: SocketConstructorOpts & { onread: OnReadOpts } = { fd: STDIN, readable: true, writable: false, onread: { buffer, callback: take } };
  const socket = new Socket(options);
  socket.on('end', onEnd);
  socket.on('error', onEnd);
  socket.resume();
}

/** Writes at once, and blocks while the worker does not read. So a process that sends too much waits, and its memory does not fill. */
export function writePipe(text: string): void {
  const bytes = Buffer.from(text);
  for (let written = 0; written < bytes.length;) written += writeSync(STDOUT, bytes, written);
}

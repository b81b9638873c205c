import { failure } from '../../../contracts/errors.ts';
import { freeExec } from '../../../contracts/call-ids.ts';
import { asUser } from '../../protocol/as-user.ts';
import type { WorkingConnection } from '../../protocol/supervisor-connection.ts';
import type { Pty, PtyFollow, PtyOptions } from '../../api/terminals.ts';
import { exitOf } from './exit-of.ts';

/** A terminal's output is journalled like any other, up to this size. */
const MAX_OUTPUT_BYTES = 1024 ** 3;
const MAX_SIZE = 1000;
const FRAME_HEADER_BYTES = 5;
const TERMINAL = 'terminal';
const MAX_FRAME_BYTES = 512 * 1024;

/** Starts a program in a new terminal and attaches to it. */
export async function openPty(connection: WorkingConnection, sandboxId: string, options: PtyOptions & PtyFollow): Promise<Pty> {
  const { columns = 80, rows = 24, command } = options;
  for (const size of [columns, rows]) checkSize(size);
  const ptyId = options.ptyId ?? freeExec();
  const argv = command === undefined ? ['/bin/bash', '-l'] : ['/bin/bash', '-c', command];
  await connection.start({
    execId: ptyId,
    run: { program: TERMINAL, argv: [String(columns), String(rows), ...argv] },
    cwd: options.cwd ?? '.',
    ...asUser(options.user),
    env: { TERM: 'xterm-256color', ...options.env },
    timeoutMs: 0,
    maxOutputBytes: MAX_OUTPUT_BYTES,
    stdin: 'open',
  });
  return follow(connection, sandboxId, ptyId, options);
}

/** @throws EXEC_NOT_FOUND, and INVALID_ARGUMENT for a command that has no terminal */
export async function attachPty(connection: WorkingConnection, sandboxId: string, ptyId: string, options: PtyFollow & { from?: number }): Promise<Pty> {
  const { command } = await connection.info(ptyId);
  if (command.startsWith(`${TERMINAL} `)) return follow(connection, sandboxId, ptyId, options);
  throw failure('INVALID_ARGUMENT', { what: 'ptyId', problem: `"${ptyId}" is a command without a terminal`, fix: 'Follow it with attach' });
}

function follow(connection: WorkingConnection, sandboxId: string, ptyId: string, { onData, from = 0 }: PtyFollow & { from?: number }): Pty {
  const release = new AbortController();
  let offset = from;
  const ended = connection
    .attach(ptyId, {
      from: { stdout: from, stderr: 0 },
      previewBytes: 0,
      signal: release.signal,
      onStdout(chunk) {
        offset += chunk.length;
        return onData(chunk);
      },
    })
    .then((end) => {
      const exit = exitOf(end, sandboxId, `terminal "${ptyId}" was open`);
      return {
        status: exit.status,
        ...(exit.exitCode !== undefined && { exitCode: exit.exitCode }),
        ...(exit.signal !== undefined && { signal: exit.signal }),
      };
    });
  ended.catch(() => undefined);
  return {
    ptyId,
    get offset() {
      return offset;
    },
    ended,
    async write(data) {
      const bytes = typeof data === 'string' ? Buffer.from(data) : data;
      for (let position = 0; position < bytes.byteLength; position += MAX_FRAME_BYTES) {
        await connection.input(ptyId, encode('i', bytes.subarray(position, position + MAX_FRAME_BYTES)), { end: false });
      }
    },
    async resize({ columns, rows }) {
      for (const size of [columns, rows]) checkSize(size);
      const payload = Buffer.alloc(4);
      payload.writeUInt16BE(columns, 0);
      payload.writeUInt16BE(rows, 2);
      await connection.input(ptyId, encode('s', payload), { end: false });
    },
    async kill() {
      await connection.signal(ptyId, 'SIGKILL');
    },
    detach: () => release.abort(),
  };
}

/** The format that terminal.py reads: a letter, a length, a payload. */
function encode(kind: string, payload: Uint8Array): Buffer {
  const frame = Buffer.alloc(FRAME_HEADER_BYTES + payload.byteLength);
  frame.write(kind, 0, 'latin1');
  frame.writeUInt32BE(payload.byteLength, 1);
  frame.set(payload, FRAME_HEADER_BYTES);
  return frame;
}

function checkSize(size: number): void {
  if (Number.isInteger(size) && size > 0 && size <= MAX_SIZE) return;
  throw failure('INVALID_ARGUMENT', { what: 'The size of a terminal', problem: String(size), fix: `Use whole numbers from 1 to ${MAX_SIZE}` });
}

import { posix } from 'node:path';
import { createMask, type Mask, type MaskedStream } from './mask.ts';
import type { ExecEnd, ExecPreview, FollowOptions, WorkingConnection } from '../../protocol/supervisor-connection.ts';

/** `mask`: of the secrets; absent where there are none. It is for what is put together of the output only later. */
export type MaskedConnection = WorkingConnection & { mask?: Mask };

/** Relative paths start here. */
const HOME = '/home/user';
/** The guest can read the output of its commands here. */
const JOURNAL = '/home/.longshore/';

/**
 * Adds secrets to the environment of every command and masks them in all output that comes back. They are sent with the command and are not stored anywhere:
 * the journal contains a digest of a command, not its environment.
 */
export function withSecrets(connection: WorkingConnection, secrets: Record<string, string>): MaskedConnection {
  if (Object.keys(secrets).length === 0) return connection;
  const mask = createMask(Object.values(secrets));
  return {
    ...connection,
    mask,
    run: (spec, follow) => followMasked(mask, follow, (masked) => connection.run({ ...spec, env: { ...secrets, ...spec.env } }, masked)),
    start: (spec) => connection.start({ ...spec, env: { ...secrets, ...spec.env } }),
    attach: (execId, follow) => followMasked(mask, follow, (masked) => connection.attach(execId, masked)),
    async readFile(path, maxBytes, offset = 0) {
      if (!posix.resolve(HOME, path).startsWith(JOURNAL)) return connection.readFile(path, maxBytes, offset);
      const before = Math.min(offset, mask.margin);
      const most = Math.min(before + maxBytes + mask.margin, Number.MAX_SAFE_INTEGER);
      const read = await connection.readFile(path, most, offset - before);
      return { ...read, bytes: mask.all(read.bytes).subarray(before, before + maxBytes) };
    },
  };
}

async function followMasked(mask: Mask, follow: FollowOptions, ask: (masked: FollowOptions) => Promise<ExecEnd>): Promise<ExecEnd> {
  const { onStdout, onStderr, from, ...rest } = follow;
  // A caller may go on in the middle of a secret, so what is before that is read too.
  const before = { stdout: Math.min(from?.stdout ?? 0, mask.margin), stderr: Math.min(from?.stderr ?? 0, mask.margin) };
  const sinks = [
    { sink: onStdout, stream: withoutStart(mask.stream(), before.stdout) },
    { sink: onStderr, stream: withoutStart(mask.stream(), before.stderr) },
  ];
  const [stdout, stderr] = sinks.map(({ sink, stream }) => sink && ((chunk: Buffer) => give(sink, stream.push(chunk))));
  const end = await ask({
    ...rest,
    ...(from && { from: { stdout: from.stdout - before.stdout, stderr: from.stderr - before.stderr } }),
    ...(stdout && { onStdout: stdout }),
    ...(stderr && { onStderr: stderr }),
  });
  // The held-back bytes are given only at the end: a caller that detaches earlier requests them again when it attaches.
  for (const { sink, stream } of sinks) if (sink) await give(sink, stream.end());
  return { ...end, stdout: maskPreview(mask, end.stdout), stderr: maskPreview(mask, end.stderr) };
}

/** The same stream without its first bytes. */
function withoutStart(stream: MaskedStream, bytes: number): MaskedStream {
  let left = bytes;
  const rest = (shown: Buffer): Buffer => {
    const taken = Math.min(left, shown.length);
    left -= taken;
    return shown.subarray(taken);
  };
  return { push: (chunk) => rest(stream.push(chunk)), end: () => rest(stream.end()) };
}

function give(sink: (chunk: Buffer) => void | Promise<void>, bytes: Buffer): void | Promise<void> {
  return bytes.length > 0 ? sink(bytes) : undefined;
}

function maskPreview(mask: Mask, preview: ExecPreview): ExecPreview {
  if (preview.leftOut === 0) return { ...preview, head: mask.text(preview.head), tail: mask.text(preview.tail) };
  return { ...preview, ...mask.edges(preview.head, preview.tail) };
}

import { createMask, type Mask } from './mask.ts';
import type { ExecEnd, ExecPreview, FollowOptions, WorkingConnection } from '../protocol/supervisor-connection.ts';

/** Where the guest can read what its commands have written. */
const JOURNAL = '/home/.longshore/';

/**
 * Gives secrets to every command as its environment, and takes them out of all that comes back of its output. They travel with the command and are
 * kept nowhere: the journal has a digest of a command, not its environment.
 */
export function withSecrets(connection: WorkingConnection, secrets: Record<string, string>): WorkingConnection {
  if (Object.keys(secrets).length === 0) return connection;
  const mask = createMask(Object.values(secrets));
  return {
    ...connection,
    run: (spec, follow) => followMasked(mask, follow, (masked) => connection.run({ ...spec, env: { ...secrets, ...spec.env } }, masked)),
    start: (spec) => connection.start({ ...spec, env: { ...secrets, ...spec.env } }),
    attach: (execId, follow) => followMasked(mask, follow, (masked) => connection.attach(execId, masked)),
    async readFile(path, ...rest) {
      const read = await connection.readFile(path, ...rest);
      return path.startsWith(JOURNAL) ? { ...read, bytes: mask.all(read.bytes) } : read;
    },
  };
}

async function followMasked(mask: Mask, follow: FollowOptions, ask: (masked: FollowOptions) => Promise<ExecEnd>): Promise<ExecEnd> {
  const { onStdout, onStderr, ...rest } = follow;
  const sinks = [onStdout, onStderr].map((sink) => ({ sink, stream: mask.stream() }));
  const [stdout, stderr] = sinks.map(({ sink, stream }) => sink && ((chunk: Buffer) => give(sink, stream.push(chunk))));
  const end = await ask({ ...rest, ...(stdout && { onStdout: stdout }), ...(stderr && { onStderr: stderr }) });
  // Only at the end: whoever lets go earlier asks for it again.
  for (const { sink, stream } of sinks) if (sink) await give(sink, stream.end());
  return { ...end, stdout: maskPreview(mask, end.stdout), stderr: maskPreview(mask, end.stderr) };
}

function give(sink: (chunk: Buffer) => void | Promise<void>, bytes: Buffer): void | Promise<void> {
  return bytes.length > 0 ? sink(bytes) : undefined;
}

function maskPreview(mask: Mask, preview: ExecPreview): ExecPreview {
  if (preview.leftOut === 0) return { ...preview, head: mask.text(preview.head), tail: mask.text(preview.tail) };
  return { ...preview, ...mask.edges(preview.head, preview.tail) };
}

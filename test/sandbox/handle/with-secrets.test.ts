import { createHandle } from '../../../src/sandbox/handle/create-handle.ts';
import { withSecrets } from '../../../src/sandbox/handle/secrets/with-secrets.ts';
import type { ExecEnd, FollowOptions, WorkingConnection } from '../../../src/sandbox/protocol/supervisor-connection.ts';

const SECRET = 'sesame-4711-shut';
const TEXT = `one ${SECRET} two ${SECRET}`;
const SHOWN = TEXT.replaceAll(SECRET, '*'.repeat(SECRET.length));
const PREVIEW = { head: '', tail: '', leftOut: 0, path: '/x' };
const JOURNAL = '/home/.longshore/execs/a/stdout';

function ended(exit: Partial<ExecEnd['exit']>): ExecEnd {
  return {
    exit: { status: 'exited', durationMs: 1, stdoutBytes: 0, stderrBytes: 0, stdoutKept: 0, stderrKept: 0, ...exit },
    stdout: PREVIEW,
    stderr: PREVIEW,
  };
}

/** A sandbox in which every file and every output is the same text. */
const connection = withSecrets(
  {
    async readFile(_path: string, maxBytes: number, offset = 0) {
      if (!Number.isSafeInteger(maxBytes)) throw new Error('no number of bytes');
      return { bytes: Buffer.from(TEXT).subarray(offset, offset + maxBytes), size: TEXT.length, version: '1' };
    },
    async attach(_execId: string, { from, onStdout, onStderr }: FollowOptions) {
      await onStdout?.(Buffer.from(TEXT).subarray(from?.stdout ?? 0));
      await onStderr?.(Buffer.from(TEXT).subarray(from?.stderr ?? 0));
      return ended({ exitCode: 0 });
    },
  } as unknown as WorkingConnection,
  { KEY: SECRET },
);

test('a part of an output that begins or ends within a secret shows nothing of it', async () => {
  for (let offset = 0; offset <= TEXT.length; offset += 1) {
    for (const length of [0, 1, 5, 20, 100, Number.MAX_SAFE_INTEGER]) {
      const { bytes, size } = await connection.readFile(JOURNAL, length, offset);
      expect([bytes.toString(), size]).toEqual([SHOWN.slice(offset, offset + length), TEXT.length]);
    }
  }
});

test('the path of an output is known in any spelling, and files of the sandbox are as they are', async () => {
  for (const path of ['../.longshore/execs/a/stdout', '/home/user/../.longshore/execs/a/stdout', '/home//.longshore/execs/a/stdout'])
    expect((await connection.readFile(path, 100)).bytes.toString()).toBe(SHOWN);
  expect((await connection.readFile('notes', 100)).bytes.toString()).toBe(TEXT);
});

test('an output that is followed from within a secret on shows nothing of it', async () => {
  for (let stdout = 0; stdout <= TEXT.length; stdout += 1) {
    const seen = { stdout: '', stderr: '' };
    await connection.attach('a', {
      previewBytes: 0,
      from: { stdout, stderr: 3 },
      onStdout: (chunk) => void (seen.stdout += chunk.toString()),
      onStderr: (chunk) => void (seen.stderr += chunk.toString()),
    });
    expect(seen).toEqual({ stdout: SHOWN.slice(stdout), stderr: SHOWN.slice(3) });
  }
});

test('of bash code that a signal has ended, the result says which one, and the limit that it has reached', async () => {
  const run = async () => ended({ signal: 'SIGKILL', limit: 'memory' });
  const handle = createHandle({ run } as unknown as WorkingConnection, 'sbx_a');
  expect(await handle.runCode('x', { language: 'bash' })).toMatchObject({
    status: 'failed',
    limit: 'memory',
    error: { type: 'Signal', message: 'ended by SIGKILL' },
  });
});

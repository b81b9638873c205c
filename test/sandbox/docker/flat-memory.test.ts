import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createTestSandboxes } from './support.ts';

const MEBIBYTE = 1024 * 1024;
const SIZE = 256;
/** Buffers that are not needed any more may come to 64 MiB before V8 looks for them. */
const ALLOWED_GROWTH = 112 * MEBIBYTE;
const PROGRAM = 'test/sandbox/docker/carry-file.ts';

async function makeFile(path: string): Promise<void> {
  await using file = await open(path, 'w');
  const piece = randomBytes(MEBIBYTE);
  for (let count = 0; count < SIZE; count += 1) {
    // No piece is like another, so that none can be taken for another.
    piece.writeUInt32BE(count);
    await file.write(piece);
  }
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

test('a file of 256 MB goes up and comes down unchanged, and the memory of the process that carries it stays flat', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'longshore-flat-'));
  await using parts = await createTestSandboxes();
  try {
    const owner = parts.newOwner();
    await parts.sandboxes.open(owner, {});
    const [file, back] = [join(directory, 'file'), join(directory, 'back')];
    await makeFile(file);
    const env = { ...process.env, DATABASE_URL: parts.databaseUrl, LONGSHORE_INSTALLATION: parts.installation, LONGSHORE_HOST_ID: 'test-host' };
    const words = ['--expose-gc', '--import', 'tsx', PROGRAM, owner.sandboxId, file, back];
    const { stdout } = await promisify(execFile)(process.execPath, words, { env });
    const { up, down } = JSON.parse(stdout) as { up: number; down: number };
    expect(up).toBeLessThan(ALLOWED_GROWTH);
    expect(down).toBeLessThan(ALLOWED_GROWTH);
    expect(await digestOf(back)).toBe(await digestOf(file));
  } finally {
    await rm(directory, { recursive: true });
  }
}, 120_000);

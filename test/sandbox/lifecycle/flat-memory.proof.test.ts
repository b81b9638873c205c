import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, open, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import type { SandboxHandle, SandboxOwner } from '../../../src/sandbox/api/sandbox.ts';
import { createTestSandboxes, output, type TestSandboxes } from './support.ts';

const MEBIBYTE = 1024 * 1024;
const SIZE = 256;
/** Buffers that are not needed any more may come to 64 MiB before V8 looks for them. */
const ALLOWED_GROWTH = 112 * MEBIBYTE;
const SPARSE_SIZE = 700 * MEBIBYTE;
/** File systems allocate more than the blocks that were written. */
const ALLOWED_ALLOCATION = 4 * MEBIBYTE;
const PROGRAM = 'test/sandbox/lifecycle/carry-file.ts';

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

/** 700 MB with content at the beginning, in the middle and at the end. */
async function makeSparseFile(path: string): Promise<void> {
  await using file = await open(path, 'w');
  for (const position of [0, 350 * MEBIBYTE + 5, SPARSE_SIZE - 6]) await file.write('marked', position);
}

let directory: string;
let parts: TestSandboxes;
let owner: SandboxOwner;
let handle: SandboxHandle;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longshore-flat-'));
  parts = await createTestSandboxes();
  owner = parts.newOwner();
  ({ handle } = await parts.sandboxes.open(owner, {}));
});
afterAll(async () => {
  await parts?.[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});

/** Takes a file to the sandbox, as `carried`, and back, in a process of its own. */
async function carry(file: string, back: string): Promise<void> {
  const env = { ...process.env, DATABASE_URL: parts.databaseUrl, LONGSHORE_INSTALLATION: parts.installation, LONGSHORE_HOST_ID: 'test-host' };
  const words = ['--expose-gc', '--import', 'tsx', PROGRAM, owner.sandboxId, file, back];
  const { stdout } = await promisify(execFile)(process.execPath, words, { env });
  const { up, down } = JSON.parse(stdout) as { up: number; down: number };
  expect(up).toBeLessThan(ALLOWED_GROWTH);
  expect(down).toBeLessThan(ALLOWED_GROWTH);
  expect(await digestOf(back)).toBe(await digestOf(file));
}

const allocatedBytes = async (path: string) => (await stat(path)).blocks * 512;

test('a file of 256 MB goes up and comes down unchanged, and the memory of the process that carries it stays flat', async () => {
  const [file, back] = [join(directory, 'file'), join(directory, 'back')];
  await makeFile(file);
  await carry(file, back);
  await handle.removeFile('carried');
}, 300_000);

test('a sparse file of 700 MB stays one up and down, and memory stays flat', async () => {
  const [file, back] = [join(directory, 'sparse'), join(directory, 'sparse-back')];
  await makeSparseFile(file);
  await carry(file, back);
  expect(await allocatedBytes(back)).toBeLessThan(ALLOWED_ALLOCATION);
  expect(Number(await output(handle, 'stat -c %b carried')) * 512).toBeLessThan(ALLOWED_ALLOCATION);
  await handle.removeFile('carried');
}, 900_000);

test('sparse files stay so in directories, snapshots, forks and archives', async () => {
  const tree = join(directory, 'tree');
  await handle.run('mkdir made; truncate -s 60M made/sparse; printf marked >> made/sparse; truncate -s 90M made/sparse; sha256sum made/sparse > made/sum');
  await handle.downloadDirectory('made', tree);
  expect(await allocatedBytes(join(tree, 'sparse'))).toBeLessThan(ALLOWED_ALLOCATION);
  expect(await handle.uploadDirectory(tree, 'made')).toMatchObject({ failed: 0, files: 2 });
  const check = async (sandbox: SandboxHandle) => {
    const [allocated, sum] = (await output(sandbox, 'stat -c %b made/sparse; sha256sum -c made/sum')).split('\n');
    expect(Number(allocated) * 512).toBeLessThan(ALLOWED_ALLOCATION);
    expect(sum).toBe('made/sparse: OK');
  };
  await check(handle);
  const { snapshotId } = await parts.sandboxes.snapshot(owner.sandboxId);
  const restored = parts.newOwner();
  await check((await parts.sandboxes.restore(snapshotId, restored)).handle);
  await parts.sandboxes.destroy(restored.sandboxId);
  const [forked = ''] = await parts.sandboxes.fork(owner.sandboxId, 1);
  const fork = { sandboxId: forked, tenantId: owner.tenantId };
  await check((await parts.sandboxes.open(fork, {})).handle);
  expect(await parts.sandboxes.archive(forked)).toBe('archived');
  await check((await parts.sandboxes.open(fork, {})).handle);
}, 300_000);

/**
 * Sends a file of many megabytes into a sandbox and back again, compares the digests, and says how much the memory of this process grew.
 *   npx tsx scripts/big-file.ts 2048
 */
import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '../src/platform/log.ts';
import { createSandboxes } from '../src/sdk/backends.ts';
import { openStore } from '../src/store/open-store.ts';
import { startTemporaryStack } from './temporary-stack.ts';

const MEBIBYTE = 1024 * 1024;
const SAMPLE_MS = 50;
const ALLOWED_GROWTH = 100 * MEBIBYTE;
const OWNER = { sandboxId: 'sbx_big', tenantId: 'big' };

const megabytes = Number(process.argv[2] ?? 2048);
if (!Number.isInteger(megabytes) || megabytes < 1) throw new RangeError('say how many megabytes: npx tsx scripts/big-file.ts 2048');

async function makeFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  const file = await open(path, 'w');
  for (let count = 0; count < megabytes; count += 1) {
    const piece = randomBytes(MEBIBYTE);
    hash.update(piece);
    await file.write(piece);
  }
  await file.close();
  return hash.digest('hex');
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

async function measured(what: string, work: () => Promise<void>): Promise<void> {
  const before = process.memoryUsage().rss;
  let highest = before;
  const timer = setInterval(() => (highest = Math.max(highest, process.memoryUsage().rss)), SAMPLE_MS);
  const started = performance.now();
  await work();
  clearInterval(timer);
  const seconds = (performance.now() - started) / 1000;
  const growth = highest - before;
  console.log(
    `${what}: ${megabytes} MB in ${seconds.toFixed(1)} s (${(megabytes / seconds).toFixed(0)} MB/s), memory grew by ${(growth / MEBIBYTE).toFixed(0)} MB`,
  );
  if (growth > ALLOWED_GROWTH) throw new Error(`${what}: memory is not flat`);
}

const directory = await mkdtemp(join(tmpdir(), 'longshore-big-'));
const log = createLogger({ LONGSHORE_LOG_LEVEL: 'error' });
try {
  await using stack = await startTemporaryStack('big', {}, console.log);
  await using store = await openStore({ url: stack.config.DATABASE_URL, log });
  await using sandboxes = await createSandboxes({ config: stack.config, store, log });
  const [up, down] = [join(directory, 'up'), join(directory, 'down')];
  const digest = await makeFile(up);
  const { handle } = await sandboxes.open(OWNER, {});
  try {
    await measured('up', () => handle.uploadFile(up, 'big'));
    await rm(up);
    await measured('down', () => handle.downloadFile('big', down));
    if ((await digestOf(down)) !== digest) throw new Error('the file that came back is another one');
    console.log('the same file came back');
  } finally {
    await sandboxes.destroy(OWNER.sandboxId);
  }
} finally {
  await rm(directory, { recursive: true, force: true });
}

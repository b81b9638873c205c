/**
 * A process of its own that carries a file into a sandbox and out again, and prints by how many bytes its memory grew over each way, as JSON.
 * Arguments: the sandbox, the file, where it comes back to.
 */
import { writeFile } from 'node:fs/promises';
import { loadConfig } from '../../../src/platform/config.ts';
import { createLogger } from '../../../src/platform/log.ts';
import { createSandboxes } from '../../../src/sdk/backends.ts';
import { openStore } from '../../../src/store/open-store.ts';

const SAMPLE_MS = 10;
const FIRST_BYTES = 4 * 1024 * 1024;

const [sandboxId = '', from = '', back = ''] = process.argv.slice(2);

async function growthOver(work: () => Promise<void>): Promise<number> {
  globalThis.gc?.();
  const before = process.memoryUsage().rss;
  let highest = before;
  const timer = setInterval(() => (highest = Math.max(highest, process.memoryUsage().rss)), SAMPLE_MS);
  await work();
  clearInterval(timer);
  return highest - before;
}

const config = loadConfig();
const log = createLogger({ LONGSHORE_LOG_LEVEL: 'error' });
await using store = await openStore({ url: config.DATABASE_URL, log });
await using sandboxes = await createSandboxes({ config, store, log });
const { handle } = await sandboxes.open({ sandboxId, tenantId: 'tenant' }, {});
// What is loaded and compiled at the first time is no part of the growth.
await writeFile(back, Buffer.alloc(FIRST_BYTES));
await handle.uploadFile(back, 'first');
await handle.downloadFile('first', back);
const up = await growthOver(() => handle.uploadFile(from, 'carried'));
const down = await growthOver(() => handle.downloadFile('carried', back));
console.log(JSON.stringify({ up, down }));

import { compareWithLimit, type Measurement } from './measure.ts';
import type { BenchParts } from './parts.ts';

const FLOOD_BYTES = 1024 ** 3;
const LIMIT_MIB = 20;
const LOOK_EVERY_MS = 20;

/** How much this process grows while a command's output of 1 GiB comes through it. */
export async function measureOutputFlood({ sandboxes }: BenchParts): Promise<Measurement[]> {
  const sandboxId = 'sbx_bench_flood';
  const { handle } = await sandboxes.open({ sandboxId, tenantId: 'bench' }, {});
  const flood = async (bytes: number): Promise<number> => {
    let seen = 0;
    await handle.run(`head -c ${bytes} /dev/zero`, { timeoutMs: 0, maxOutputBytes: bytes, onStdout: (chunk) => (seen += chunk.length) });
    return seen;
  };
  // Buffers and compiled code that any stream needs are there before the first look.
  await flood(FLOOD_BYTES / 8);
  const before = process.memoryUsage().rss;
  let peak = before;
  const timer = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), LOOK_EVERY_MS);
  const seen = await flood(FLOOD_BYTES);
  clearInterval(timer);
  await sandboxes.destroy(sandboxId);
  if (seen !== FLOOD_BYTES) throw new Error(`${seen} of ${FLOOD_BYTES} bytes came through`);
  return [compareWithLimit({ name: 'output-flood-growth', unit: 'MiB', limit: LIMIT_MIB }, [(peak - before) / 1024 ** 2])];
}

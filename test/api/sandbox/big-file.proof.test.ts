import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { openSandboxService } from './support.ts';

const GIB = 1024 ** 3;
const PIECE = 1024 ** 2;
const MOST_MB = 50;

/** What the process has in memory now, in MB. */
async function memoryOf(pid: number): Promise<number> {
  const [, kilobytes = ''] = /^VmRSS:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) / 1024;
}

/** By how many MB each process grows during the work, at most. */
async function growth(pids: number[], work: () => Promise<void>): Promise<number[]> {
  const before = await Promise.all(pids.map(memoryOf));
  const most = [...before];
  const timer = setInterval(() => {
    for (const [index, pid] of pids.entries()) void memoryOf(pid).then((now) => (most[index] = Math.max(most[index] ?? 0, now)));
  }, 20);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  return most.map((mb, index) => mb - (before[index] ?? 0));
}

test(`a file of 1 GiB goes up and down; neither the service nor the worker grows by ${MOST_MB} MB`, async () => {
  await using service = await openSandboxService();
  async function* content(size: number) {
    for (let at = 0; at < size; at += PIECE) {
      // Not zeros, which would become a hole, and different in each piece.
      const piece = Buffer.alloc(PIECE, `${at} `);
      yield piece;
    }
  }
  const put = async (path: string, size: number) => {
    const init = { method: 'PUT', body: ReadableStream.from(content(size)), duplex: 'half' };
    expect((await service.ask(`/files/${path}`, init as RequestInit)).status).toBe(200);
  };
  await put('small', 4 * PIECE);
  await (await service.ask('/files/small')).arrayBuffer();
  const pids = [service.server.pid, service.worker.pid];
  const wanted = createHash('sha256');
  for (let at = 0; at < GIB; at += PIECE) wanted.update(Buffer.alloc(PIECE, `${at} `));
  const up = await growth(pids, () => put('big', GIB));
  const received = createHash('sha256');
  const down = await growth(pids, async () => {
    const answer = await service.ask('/files/big');
    for await (const chunk of answer.body ?? []) received.update(chunk as Uint8Array);
  });
  expect(received.digest('hex')).toBe(wanted.digest('hex'));
  console.log(`MB more, service and worker: up ${up.map(Math.round).join(', ')}; down ${down.map(Math.round).join(', ')}`);
  expect(Math.max(...up, ...down)).toBeLessThan(MOST_MB);
}, 600_000);

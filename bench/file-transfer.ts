import { execFile } from 'node:child_process';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { containerNameOf } from '../src/sandbox/engine/labels.ts';
import { compare, timed, type Measurement } from './measure.ts';
import type { BenchParts } from './parts.ts';

const SIZE_MIB = 500;
const ROUNDS = 3;
const run = promisify(execFile);

/** A file of 500 MiB into a sandbox and out of it, against `docker cp` of the same file with the same container. */
export async function measureFileTransfer({ sandboxes, stack }: BenchParts): Promise<Measurement[]> {
  const sandboxId = 'sbx_bench_transfer';
  const { handle } = await sandboxes.open({ sandboxId, tenantId: 'bench' }, {});
  const container = containerNameOf(stack.config.LONGSHORE_INSTALLATION, sandboxId);
  const directory = await mkdtemp(join(tmpdir(), 'longshore-bench-'));
  const [there, back] = [join(directory, 'there'), join(directory, 'back')];
  const up = { subject: [] as number[], baseline: [] as number[] };
  const down = { subject: [] as number[], baseline: [] as number[] };
  try {
    await run('dd', ['if=/dev/urandom', `of=${there}`, 'bs=1M', `count=${SIZE_MIB}`]);
    for (let round = 0; round < ROUNDS; round++) {
      up.subject.push(await timed(() => handle.uploadFile(there, '/home/user/file')));
      up.baseline.push(await timed(() => run('docker', ['cp', there, `${container}:/home/user/copied`])));
      down.subject.push(await timed(() => handle.downloadFile('/home/user/file', back)));
      if ((await stat(back)).size !== SIZE_MIB * 1024 ** 2) throw new Error('the file came back shorter');
      down.baseline.push(await timed(() => run('docker', ['cp', `${container}:/home/user/copied`, back])));
    }
  } finally {
    await sandboxes.destroy(sandboxId);
    await rm(directory, { recursive: true, force: true });
  }
  return [
    compare({ name: 'upload-500-mib', unit: 'ms', baselineIs: 'docker cp' }, up),
    compare({ name: 'download-500-mib', unit: 'ms', baselineIs: 'docker cp' }, down),
  ];
}

import { setTimeout as sleep } from 'node:timers/promises';
import type Docker from 'dockerode';
import { containerNameOf } from '../src/sandbox/engine/labels.ts';
import type { SandboxHandle } from '../src/sandbox/api/sandbox.ts';
import { compare, timed, type Measurement } from './measure.ts';
import type { BenchParts } from './parts.ts';

/** Blocks, not single calls, take turns: the engine works on for some milliseconds after its exec has ended. */
const BLOCKS = 8;
const BLOCK = 25;
const SETTLE_MS = 200;
const PARALLEL = 50;
const PARALLEL_ROUNDS = 4;
const WARM_UP = 10;

/** A command through the supervisor against the same command through the engine's own exec, in the same container. */
export async function measureCommandExec({ sandboxes, docker, stack }: BenchParts): Promise<Measurement[]> {
  const sandboxId = 'sbx_bench_exec';
  const { handle } = await sandboxes.open({ sandboxId, tenantId: 'bench' }, {});
  const container = docker.getContainer(containerNameOf(stack.config.LONGSHORE_INSTALLATION, sandboxId));
  const subject = () => runTrue(handle);
  const baseline = () => execTrue(container);
  for (let round = 0; round < WARM_UP; round++) {
    await subject();
    await baseline();
  }
  const serial = { subject: [] as number[], baseline: [] as number[] };
  for (let block = 0; block < BLOCKS; block++) {
    for (let call = 0; call < BLOCK; call++) serial.subject.push(await timed(subject));
    for (let call = 0; call < BLOCK; call++) serial.baseline.push(await timed(baseline));
    await sleep(SETTLE_MS);
  }
  const parallel = { subject: [] as number[], baseline: [] as number[] };
  for (let round = 0; round < PARALLEL_ROUNDS; round++) {
    parallel.subject.push(...(await Promise.all(Array.from({ length: PARALLEL }, () => timed(subject)))));
    parallel.baseline.push(...(await Promise.all(Array.from({ length: PARALLEL }, () => timed(baseline)))));
  }
  await sandboxes.destroy(sandboxId);
  const baselineIs = 'docker exec by dockerode';
  return [
    compare({ name: 'command-exec', goal: 1 / 15, unit: 'ms', baselineIs }, serial),
    compare({ name: 'command-exec-parallel', goal: 1 / 10, unit: 'ms', baselineIs: `${baselineIs}, ${PARALLEL} at once` }, parallel),
  ];
}

async function runTrue(handle: SandboxHandle): Promise<void> {
  const { exitCode } = await handle.run('true');
  if (exitCode !== 0) throw new Error(`true ended with ${exitCode}`);
}

async function execTrue(container: Docker.Container): Promise<void> {
  const exec = await container.exec({ Cmd: ['/bin/bash', '-c', 'true'], User: '1000:1000', AttachStdout: true, AttachStderr: true });
  const stream = await exec.start({ hijack: true, stdin: false });
  await new Promise((resolve, reject) => stream.once('end', resolve).once('error', reject).resume());
  const { ExitCode } = await exec.inspect();
  if (ExitCode !== 0) throw new Error(`true ended with ${ExitCode}`);
}

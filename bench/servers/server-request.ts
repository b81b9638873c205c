import { readFile } from 'node:fs/promises';
import type { WorkerHandle } from '../../src/sandbox/api/sandbox.ts';
import { compare, timed, type Measurement } from '../measure.ts';
import type { BenchParts } from '../parts.ts';

const PROGRAM = new URL('../programs/echo-server.cjs', import.meta.url);
const SERVER = { name: 'echo', command: 'node', args: ['echo-server.cjs'], env: {} };
const REQUEST = { method: 'tools/call', params: { name: 'echo', arguments: {} } };
const ROUNDS = 200;
const WARM_UP = 10;
const GOAL = 3;

/** A request to an MCP server that runs in a sandbox, against a command that does nothing. */
export async function measureServerRequest({ sandboxes }: BenchParts): Promise<Measurement[]> {
  const sandboxId = 'sbx_bench_server';
  const { handle } = await sandboxes.open({ sandboxId, tenantId: 'bench' }, {});
  await handle.writeFile('echo-server.cjs', await readFile(PROGRAM));
  const samples = { subject: [] as number[], baseline: [] as number[] };
  for (let round = 0; round < WARM_UP + ROUNDS; round++) {
    const [asked, ran] = [await timed(() => ask(handle)), await timed(() => handle.run('true'))];
    if (round < WARM_UP) continue;
    samples.subject.push(asked);
    samples.baseline.push(ran);
  }
  await sandboxes.destroy(sandboxId);
  return [compare({ name: 'server-request', goal: GOAL, unit: 'ms', baselineIs: 'a command that does nothing' }, samples)];
}

async function ask(handle: WorkerHandle): Promise<void> {
  const { outcome } = await handle.callServer(SERVER, REQUEST);
  if (outcome !== 'answered') throw new Error(`the server's answer is ${outcome}`);
}

import { setTimeout as sleep } from 'node:timers/promises';
import { listLeftovers } from '../temporary-stack.ts';
import { census } from './census.ts';
import type { Verdict } from './verdict.ts';
import type { World } from './world.ts';

/** Conversations that have closed are cleaned up by workers, for which they have this time. */
const CLEANING_MS = 30_000;

/** Ends workers and services, has what killed ones have left reaped, and reports what there still is. */
export async function takeLeftovers(world: World, verdict: Verdict, say: (line: string) => void): Promise<void> {
  const { crew, installation, records, workflows, temporary } = world;
  const isOpen = async () => (await workflows.count(`ExecutionStatus = 'Running'`)).count > 0;
  for (const end = Date.now() + CLEANING_MS; (await isOpen()) && Date.now() < end;) await sleep(500);
  verdict.add(...(await crew.stop()).map((what) => ({ rule: 'ended' as const, what })));
  const before = await listLeftovers(installation);
  await world.reap();
  const processes = [...crew.orphans(), ...world.gone()];
  verdict.add(...(await census({ installation, records, workflows, processes, temporary })).map((what) => ({ rule: 'left' as const, what })));
  say(
    `census: containers, volumes, images, networks, files, workflows and rows were counted, and ${processes.length} processes; ${before.length} things were left to the reaper`,
  );
}

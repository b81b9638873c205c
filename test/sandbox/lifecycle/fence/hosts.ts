import type { SandboxHandle } from '../../../../src/sandbox/api/sandbox.ts';
import { fenceOf } from '../../../../src/sandbox/engine/labels.ts';
import { runIn, type FakeTime } from '../fakes/fake-time.ts';
import { FakeDatabase } from '../fakes/fake-database.ts';
import { FakeWorld, type FakeWorker } from '../fakes/fake-world.ts';

export const ID = 'sbx_1';
export const OWNER = { sandboxId: ID, tenantId: 'tenant' };

/** A host with the worker that runs there now; another one takes the place of a worker that died. */
export class Host {
  readonly world: FakeWorld;
  worker: FakeWorker;
  handle: SandboxHandle | undefined;

  constructor(world: FakeWorld) {
    this.world = world;
    this.worker = world.worker();
  }

  restart(): void {
    this.worker.die();
    this.worker = this.world.worker();
    this.handle = undefined;
  }

  async open(): Promise<SandboxHandle> {
    return (this.handle = (await this.worker.sandboxes.open(OWNER, {})).handle);
  }
}

/** Two hosts with one database, and what runs work on them while virtual time passes. */
export function twoHosts(time: FakeTime, latencies: number[]) {
  let drawn = 0;
  const database = new FakeDatabase();
  const latency = () => latencies[(drawn += 1) % latencies.length] ?? 1;
  const hosts = ['first', 'second'].map((hostId) => new Host(new FakeWorld(latency, { hostId, database })));
  const run = runIn(time);
  return { database, hosts, run };
}

/** No two containers ever have one number. */
export function noteNumbers(hosts: Host[], seen: Map<string, string>): void {
  for (const { world } of hosts) {
    for (const { id, spec } of world.containers.values()) {
      const number = String(fenceOf(spec.labels));
      if ((seen.get(number) ?? id) !== id) throw new Error(`two containers have number ${number}: ${seen.get(number)} and ${id}`);
      seen.set(number, id);
    }
  }
}

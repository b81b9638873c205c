import * as fc from 'fast-check';
import { isFailure } from '../../../src/contracts/errors.ts';
import { openDatabase, type Database } from '../../../src/store/database/database.ts';
import type { SandboxRow } from '../../../src/store/sandbox-rows.ts';
import type { Store } from '../../../src/store/store.ts';
import { newConversation, newId, silent, statusOf, useTestStore } from '../support.ts';

let store: Store;
let database: Database;
// Before the store closes, whose database has to be left.
afterAll(() => database.close());
useTestStore((opened) => {
  ({ store } = opened);
  database = openDatabase({ url: opened.url, log: silent, poolSize: 1 });
});

const GIB = 2 ** 30;
const LOST_MS = 60_000;
const CALLERS = 5;

const step = fc.record({
  caller: fc.nat(CALLERS - 1),
  verb: fc.constantFrom('ask', 'ask', 'ask', 'rest', 'end', 'fall silent', 'fill its disk'),
  host: fc.nat(1),
  size: fc.integer({ min: 1, max: 3 }),
  anywhere: fc.boolean(),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** What a caller has: nothing, or a sandbox of so many GiB that runs or rests. */
interface Caller {
  conversationId: string;
  row?: SandboxRow | undefined;
  size: number;
  host: number;
  runs: boolean;
}
interface Waiter {
  caller: number;
  host: number | undefined;
  size: number;
  isSilent: boolean;
}

/** Two hosts with room for two and three GiB, and what is to happen there by the rules. */
class Model {
  readonly allowed = [2, 3];
  /** Hosts with too little disk for what is not on them yet. */
  readonly short = [false, false];
  readonly queue: Waiter[] = [];
  readonly callers: Caller[];

  constructor(callers: Caller[]) {
    this.callers = callers;
  }

  used(host: number): number {
    return this.callers.filter((caller) => caller.runs && caller.host === host).reduce((sum, { size }) => sum + size, 0);
  }

  /** How many come before the caller on a host. */
  ahead(caller: number, host: number): number {
    const at = this.queue.findIndex((waiter) => waiter.caller === caller);
    const before = at === -1 ? this.queue : this.queue.slice(0, at);
    const mayUse = (waiter: Waiter) => (waiter.host === undefined ? !this.short[host] : waiter.host === host);
    return before.filter((waiter) => !waiter.isSilent && waiter.size <= (this.allowed[host] ?? 0) && mayUse(waiter)).length;
  }

  stand(waiter: Waiter): void {
    const at = this.queue.findIndex(({ caller }) => caller === waiter.caller);
    if (at !== -1 && !this.queue[at]?.isSilent) this.queue[at] = waiter;
    else {
      this.leave(waiter.caller);
      this.queue.push(waiter);
    }
  }

  leave(caller: number): void {
    const at = this.queue.findIndex((waiter) => waiter.caller === caller);
    if (at !== -1) this.queue.splice(at, 1);
  }
}

async function newHosts(allowed: number[]): Promise<string[]> {
  const hosts = allowed.map((_, number) => `host-${number}-${newId('sbx')}`);
  for (const [number, hostId] of hosts.entries()) {
    await store.hosts.beat(hostId, LOST_MS);
    await describe(hostId, allowed[number] ?? 0, false);
  }
  return hosts;
}

async function describe(hostId: string, allowed: number, isShort: boolean): Promise<void> {
  const disk = { freeBytes: 1, totalBytes: GIB, againBytes: 2, isShort };
  await store.fleet.describe(hostId, { version: '1', runtimes: ['runc'], memoryBytes: 8 * GIB, allowedBytes: allowed * GIB, disk });
}

async function newCaller(): Promise<Caller> {
  return { conversationId: await newConversation(store), size: 0, host: 0, runs: false };
}

/** Asks for a new sandbox, or for the memory of one that rests. Undefined when it was granted, or else how many come first. */
async function take(caller: Caller, hostId: string, memoryMb: number): Promise<number | undefined> {
  const { conversationId, row } = caller;
  try {
    if (row) {
      const woken = await store.sandboxes.promise(row.sandboxId, row.generation, hostId);
      caller.row = woken && (await store.sandboxes.change(row.sandboxId, row.generation, { state: 'running' }));
    } else {
      const sandboxId = newId('sbx');
      const names = { containerName: `c-${sandboxId}`, volumeName: `v-${sandboxId}` };
      caller.row = await store.sandboxes.ensure({ sandboxId, conversationId, tenantId: 'default', state: 'creating', hostId, ...names, options: { memoryMb } });
    }
    return undefined;
  } catch (error) {
    if (isFailure(error, 'HOST_FULL')) return Number(error.values['ahead']);
    throw error;
  }
}

async function ask(model: Model, hosts: string[], { caller: number, host: wanted, size: wantedSize, anywhere }: Step): Promise<void> {
  const caller = model.callers[number];
  if (!caller || caller.runs) return;
  const [host, size] = caller.row ? [caller.host, caller.size] : [wanted, wantedSize];
  const ahead = model.ahead(number, host);
  const fits = model.used(host) + size <= (model.allowed[host] ?? 0);
  const refused = await take(caller, hosts[host] ?? '', size * 1024);
  expect(refused).toBe(ahead === 0 && fits ? undefined : ahead);
  if (refused === undefined) {
    Object.assign(caller, { host, size, runs: true });
    return model.leave(number);
  }
  const isAnywhere = anywhere && !caller.row;
  await stand(caller.conversationId, size, isAnywhere ? undefined : hosts[host]);
  model.stand({ caller: number, host: isAnywhere ? undefined : host, size, isSilent: false });
}

async function stand(waiter: string, size: number, hostId: string | undefined): Promise<void> {
  const waits = { neededMb: size * 1024, host: '', promisedMb: 0, allowedMb: 0, ahead: 0 };
  await store.roomQueue.join({ waiter, conversationId: waiter, tenantId: 'default', ...(hostId !== undefined && { hostId }), waits });
}

/** Or makes room there. */
async function fillDisk(model: Model, hosts: string[], { host }: Step): Promise<void> {
  model.short[host] = !model.short[host];
  return describe(hosts[host] ?? '', model.allowed[host] ?? 0, model.short[host]);
}

async function act(model: Model, hosts: string[], given: Step): Promise<void> {
  const { caller: number, verb } = given;
  if (verb === 'fill its disk') return fillDisk(model, hosts, given);
  const caller = model.callers[number];
  const waiter = model.queue.find((one) => one.caller === number);
  if (!caller) return;
  const { row, conversationId } = caller;
  switch (verb) {
    case 'ask':
      // A host that is short of disk is not asked for what is new.
      return !row && model.short[given.host] ? undefined : ask(model, hosts, given);
    case 'rest':
      if (!row || !caller.runs) return;
      Object.assign(caller, { row: await store.sandboxes.change(row.sandboxId, row.generation, { state: 'stopped' }), runs: false });
      return;
    case 'end':
      if (row) await store.sandboxes.change(row.sandboxId, row.generation, { state: 'destroyed' });
      await store.conversations.saveStatus(statusOf(conversationId, { state: 'closed' }), []);
      model.leave(number);
      model.callers[number] = await newCaller();
      return;
    default:
      // Its worker has died, or its turn was ended.
      if (!waiter) return;
      waiter.isSilent = true;
      await database.query('silence', "update room_waits set seen_at = seen_at - interval '1 minute' where waiter = $1", [conversationId]);
  }
}

test('in any order of requests, rests, ends, crashes and full disks, a host never promises more than it may, and the request that has waited longest comes first', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
      await database.query('empty', 'delete from room_waits', []);
      const model = new Model([]);
      for (let count = 0; count < CALLERS; count += 1) model.callers.push(await newCaller());
      const hosts = await newHosts(model.allowed);
      for (const given of steps) {
        await act(model, hosts, given);
        for (const [number, hostId] of hosts.entries()) {
          const [known] = await store.fleet.hosts(LOST_MS, hostId);
          expect(known?.reservedBytes).toBe(model.used(number) * GIB);
          expect(known?.reservedBytes).toBeLessThanOrEqual((model.allowed[number] ?? 0) * GIB);
        }
      }
    }),
    { numRuns: 12, endOnFailure: true },
  );
}, 120_000);

test('callers that ask at the same time never get more than there is', async () => {
  const allowed = [2, 3];
  const hosts = await newHosts(allowed);
  await database.query('empty', 'delete from room_waits', []);
  const over = new AbortController();
  let most = 0;
  const watch = async () => {
    while (!over.signal.aborted) {
      for (const [number, hostId] of hosts.entries()) {
        const [known] = await store.fleet.hosts(LOST_MS, hostId);
        most = Math.max(most, (known?.reservedBytes ?? 0) / GIB - (allowed[number] ?? 0));
      }
    }
  };
  const work = async (seed: number) => {
    for (let count = 0; count < 8; count += 1) {
      const caller = await newCaller();
      const hostId = hosts[(seed + count) % 2] ?? '';
      const refused = await take(caller, hostId, 1024);
      const { row } = caller;
      if (refused !== undefined || !row) continue;
      const stopped = await store.sandboxes.change(row.sandboxId, row.generation, { state: 'stopped' });
      if (!stopped) continue;
      caller.row = stopped;
      const again = await take(caller, hostId, 1024);
      const last = again === undefined ? caller.row : stopped;
      await store.sandboxes.change(last.sandboxId, last.generation, { state: 'destroyed' });
    }
  };
  const watching = watch();
  await Promise.all(Array.from({ length: 8 }, (_, seed) => work(seed)));
  over.abort();
  await watching;
  expect(most).toBeLessThanOrEqual(0);
  expect((await store.fleet.hosts(LOST_MS, hosts[0]))[0]?.reservedBytes).toBe(0);
});

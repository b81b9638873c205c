import type { Store } from '../../../src/store/store.ts';
import { newId, useTestStore } from '../support.ts';

let store: Store;
useTestStore((opened) => ({ store } = opened));

const LOST_MS = 60_000;

test('work of a sandbox that needs gVisor is given to hosts that have it, however short of disk they are; where none has it, to any', async () => {
  const [plain, gvisor] = ['plain', 'gvisor'];
  const [one, other] = [newId('sbx'), newId('sbx')];
  await store.hosts.beat(plain, LOST_MS);
  await store.fleet.describe(plain, { version: '1', runtimes: ['runc'] });
  await store.hosts.announce({ workerId: one, hostId: plain, address: '127.0.0.1:1', fingerprint: 'f' }, LOST_MS);
  const listed = async (runtime?: string) => (await store.hosts.list(undefined, runtime === undefined ? {} : { runtime })).map(({ workerId }) => workerId);
  expect(await listed('runsc')).toEqual([one]);
  await store.hosts.announce({ workerId: other, hostId: gvisor, address: '127.0.0.1:1', fingerprint: 'f' }, LOST_MS);
  // It has said nothing of itself yet.
  expect(await listed('runsc')).toEqual([one, other].toSorted());
  await store.hosts.beat(gvisor, LOST_MS);
  const disk = { freeBytes: 1, totalBytes: 100, againBytes: 20, isShort: true };
  await store.fleet.describe(gvisor, { version: '1', runtimes: ['runc', 'runsc'], disk });
  expect(await listed('runsc')).toEqual([other]);
  expect(await listed()).toEqual([one]);
  for (const workerId of [one, other]) await store.hosts.withdraw(workerId);
});

import { writeFileSync } from 'node:fs';
import type { Isolates } from '../../../src/plugins/isolates/load-isolated.ts';
import { digestOf } from '../../../src/plugins/manager/pins.ts';
import { call, sourceOf, useManagerBench, type Workbench } from './manager-workbench.ts';

let bench: Workbench;
let isolates: Isolates;
useManagerBench((opened) => ({ bench, isolates } = opened));

const reportOf = (name: string) => bench.states.written.get(name);
const asking = (id: string, permissions: object) =>
  sourceOf(id, 'return 1').replace("description: 'Runs',", `description: 'Runs', permissions: ${JSON.stringify(permissions)},`);

test('files of a pinned plugin that are replaced between the check and the loading are not loaded', async () => {
  await bench.write('p/index.ts', sourceOf('p', 'return 1'));
  const pins = { './p': { digest: await digestOf(`${bench.directory}/p`) } };
  // A group of processes is opened when the pin has been checked, and before any file is read for it.
  const replacing: Isolates = {
    ...isolates,
    group() {
      writeFileSync(`${bench.directory}/p/index.ts`, sourceOf('p', 'return 2'));
      return isolates.group();
    },
  };
  const manager = await bench.open(['./p'], { isolates: replacing, pins });
  expect(manager.registry.get('p:run')).toBeUndefined();
  expect(reportOf('./p')).toMatchObject({ health: 'failed', error: expect.stringContaining('it is pinned to sha256:') as string });
});

test('a plugin whose newest version is refused under another id still obeys what operators say of the one that runs', async () => {
  await bench.write('p/index.ts', asking('former', { network: ['a.example'] }));
  bench.states.want('former', { granted: { network: ['a.example'] } });
  const manager = await bench.open(['./p'], { requireGrants: true });
  await bench.write('p/index.ts', asking('latter', { network: ['a.example'] }));
  await manager.reload('./p');
  expect(await call(manager, 'former:run')).toBe(1);
  bench.states.want('former', { granted: {} });
  await manager.follow();
  expect(manager.registry.get('former:run')).toBeUndefined();
  expect(await call(manager, 'former:run').catch((error: Error) => error.message)).toBe('no tool former:run');
});

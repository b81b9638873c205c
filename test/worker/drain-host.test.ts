import { createLogger } from '../../src/platform/log.ts';
import type { Sandboxes } from '../../src/sandbox/api/host-sandboxes.ts';
import type { Store } from '../../src/store/store.ts';
import { startDraining } from '../../src/worker/hosts/drain-host.ts';

async function until(question: () => boolean): Promise<void> {
  while (!question()) await new Promise((resolve) => setTimeout(resolve, 5));
}

test('three are taken at the same time, and no further ones when the host is taken back meanwhile', async () => {
  const rows = Array.from({ length: 20 }, (_, index) => ({ sandboxId: `sbx_${index}` }));
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  let isDraining = true;
  const sandboxes: Partial<Sandboxes> = {
    hostId: 'here',
    isDraining: () => isDraining,
    async evacuate(sandboxId) {
      begun.push(sandboxId);
      await new Promise<void>((resolve) => ends.push(resolve));
      return 'moved';
    },
  };
  const store = { sandboxes: { list: async () => rows } } as unknown as Store;
  const draining = startDraining({ store, sandboxes: sandboxes as Sandboxes, log: createLogger({ LONGSHORE_LOG_LEVEL: 'silent' }) });
  await until(() => begun.length === 3);
  ends[0]!();
  await until(() => begun.length === 4);
  isDraining = false;
  for (const end of ends) end();
  // All that follows from this has happened then.
  await new Promise((resolve) => setImmediate(resolve));
  await draining.stop();
  expect(begun).toEqual(['sbx_0', 'sbx_1', 'sbx_2', 'sbx_3']);
});

test('one that another process thaws is frozen again only after some time', async () => {
  const asked: string[] = [];
  let rounds = 0;
  const sandboxes: Partial<Sandboxes> = {
    hostId: 'here',
    isDraining: () => true,
    async evacuate(sandboxId) {
      asked.push(sandboxId);
      return sandboxId === 'thawed' ? 'frozen' : 'in use';
    },
  };
  const list = async () => {
    rounds += 1;
    return ['thawed', 'busy'].map((sandboxId) => ({ sandboxId, state: 'running' }));
  };
  const store = { sandboxes: { list } } as unknown as Store;
  const draining = startDraining({ store, sandboxes: sandboxes as Sandboxes, log: createLogger({ LONGSHORE_LOG_LEVEL: 'silent' }) });
  await until(() => rounds === 3);
  await draining.stop();
  expect(asked).toEqual(['thawed', 'busy', 'busy', 'busy']);
});

import { deferred } from '../../../../src/common/deferred.ts';
import { createEngine } from '../../../../src/sandbox/engine/docker/engine.ts';
import type { Engine } from '../../../../src/sandbox/engine/engine.ts';
import { pastMoves, startKnown } from '../../../../src/sandbox/lifecycle/base/moves.ts';
import type { SandboxRow } from '../../../../src/store/sandbox-rows.ts';
import { createTestSandboxes, until, waitingForLocks, type TestSandboxes } from '../support.ts';

let parts: TestSandboxes;
const engine = createEngine(process.env['DOCKER_HOST']);
beforeAll(async () => {
  parts = await createTestSandboxes();
});
afterAll(async () => parts[Symbol.asyncDispose]());

const rows = () => parts.store.sandboxes;
const statusOf = async ({ containerName }: SandboxRow) => (await engine.inspect(containerName))?.status;

async function stopped(): Promise<SandboxRow> {
  const owner = parts.newOwner();
  await parts.sandboxes.open(owner, {});
  await parts.sandboxes.stop(owner.sandboxId);
  return (await rows().get(owner.sandboxId))!;
}

test('a container that another worker has let run and ended since is not started for the older row', async () => {
  const seen = await stopped();
  await parts.another().open({ sandboxId: seen.sandboxId, tenantId: seen.tenantId }, {});
  await parts.another().stop(seen.sandboxId);
  expect(await startKnown({ engine, rows: rows() }, seen, seen.containerName)).toBe(false);
  expect(await statusOf(seen)).toBe('ended');
  expect(await startKnown({ engine, rows: rows() }, (await rows().get(seen.sandboxId))!, seen.containerName)).toBe(true);
  expect(await statusOf(seen)).toBe('running');
  await parts.sandboxes.destroy(seen.sandboxId);
});

test('who ends the processes of a sandbox waits until a start for an older row has ended', async () => {
  const seen = await stopped();
  const [begun, goOn] = [deferred<undefined>(), deferred<undefined>()];
  const slow: Engine = {
    ...engine,
    start: async (container) => {
      begun.resolve(undefined);
      await goOn.promise;
      return engine.start(container);
    },
  };
  const starting = startKnown({ engine: slow, rows: rows() }, seen, seen.containerName);
  await begun.promise;
  await rows().change(seen.sandboxId, seen.generation, { state: 'running' });
  const stopping = parts.another().stop(seen.sandboxId);
  await until(async () => (await waitingForLocks(parts)) > 0, 'the stop waits');
  goOn.resolve(undefined);
  expect([await starting, await stopping, await statusOf(seen)]).toEqual([true, 'stopped', 'ended']);
  expect(await pastMoves({ rows: rows() }, seen.sandboxId)).toMatchObject({ state: 'stopped' });
  await parts.sandboxes.destroy(seen.sandboxId);
});

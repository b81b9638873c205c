import { FakeTime, until } from '../fakes/fake-time.ts';
import { sleep } from '../fakes/until-done.ts';
import type { Evacuated, InUse } from '../../../../src/sandbox/api/evacuation.ts';
import { type Host, ID, OWNER, twoHosts } from './hosts.ts';

const free = async () => 'no' as const;

/** As the worker does it: again and again, until it is moved or nothing changes any more. */
async function drained({ worker }: Host, inUse: InUse = free): Promise<Evacuated | undefined> {
  for (let round = 0; round < 10; round += 1) {
    if ((await worker.sandboxes.evacuate!(ID, inUse)) === 'moved') return 'moved';
    await sleep(2000);
  }
  return worker.sandboxes.evacuate!(ID, inUse);
}

function played(): { time: FakeTime } & ReturnType<typeof twoHosts> & { first: Host; second: Host } {
  const time = new FakeTime();
  const parts = twoHosts(time, [1, 3, 2]);
  return { time, ...parts, first: parts.hosts[0]!, second: parts.hosts[1]! };
}

test('a sandbox that nothing uses is archived, and nothing of it is left; another host brings it back', async () => {
  const { time, database, run, first, second } = played();
  using _time = time;
  const handle = await run(first.open());
  await run(handle.run('work 10', { execId: 'e1' }));
  expect(await run(drained(first))).toBe('moved');
  expect(database.rows.get(ID)).toMatchObject({ state: 'archived' });
  expect([first.world.containers.size, first.world.volumes.size]).toEqual([0, 0]);
  expect(await run(first.worker.sandboxes.evacuate!(ID, free))).toBe('moved');

  await run(second.open());
  expect(database.rows.get(ID)).toMatchObject({ state: 'running', hostId: 'second' });
});

test('one in which a command of this worker runs stays as it is, and so does one in which a call runs or whose code waits', async () => {
  const { time, database, run, first } = played();
  using _time = time;
  const handle = await run(first.open());
  const command = handle.run('work 5000', { execId: 'e1' });
  expect(await run(first.worker.sandboxes.evacuate!(ID, free))).toBe('in use');
  expect(await run(command)).toMatchObject({ status: 'exited' });
  expect(await run(drained(first, async () => 'works'))).toBe('in use');
  expect(await run(drained(first, async () => 'waits'))).toBe('holds calls');
  expect(database.rows.get(ID)).toMatchObject({ hostId: 'first', state: 'frozen' });
});

test('one that another worker begins to use while it is looked at stays', async () => {
  const { time, database, run, first } = played();
  using _time = time;
  await run(first.open());
  const { handle } = await run(first.world.worker().sandboxes.open(OWNER, {}));
  await run(sleep(20_000));
  await run(first.worker.sandboxes.evacuate!(ID, free));
  await run(sleep(10_000));
  let looks = 0;
  const usedMeanwhile = async () => {
    // After the second look, nothing stands between the look and the end of its processes but the row.
    if ((looks += 1) === 2) await handle.run('work 10', { execId: 'e1' });
    return 'no' as const;
  };
  expect(await run(first.worker.sandboxes.evacuate!(ID, usedMeanwhile))).toBe('in use');
  expect(looks).toBe(2);
  expect(database.rows.get(ID)).toMatchObject({ hostId: 'first', state: 'running' });
});

test('a sandbox that another host is making is left to it', async () => {
  const { time, database, run, second } = played();
  using _time = time;
  const row = { ...OWNER, state: 'creating' as const, hostId: 'first', containerName: 'c', volumeName: 'v', options: {} };
  await database.sandboxes().ensure(row);
  await expect(run(second.open())).rejects.toMatchObject({ code: 'SANDBOX_UNREACHABLE', values: { host: 'first', waitMs: 60_000 } });
  expect(database.rows.get(ID)).toMatchObject({ state: 'creating', hostId: 'first' });
});

test('a command that another worker runs without a call is left to it, however long it takes; one in which a call runs is not even frozen', async () => {
  const { time, database, run, first } = played();
  using _time = time;
  await run(first.open());
  const { handle } = await run(first.world.worker().sandboxes.open(OWNER, {}));
  await run(sleep(20_000));
  const { generation } = database.rows.get(ID)!;
  expect(await run(drained(first, async () => 'works'))).toBe('in use');
  expect(database.rows.get(ID)).toMatchObject({ state: 'running', generation });
  const command = handle.run('work 60000', { execId: 'e1' });
  expect(await run(drained(first))).not.toBe('moved');
  expect(await run(drained(first))).not.toBe('moved');
  expect(await run(command)).toMatchObject({ status: 'exited' });
  await run(drained(first));
  expect(await run(drained(first))).toBe('moved');
});

test('one that is looked into all the time while it runs, as those of plugins are, is moved all the same', async () => {
  const { time, database, run, first } = played();
  using _time = time;
  const handle = await run(first.open());
  let number = 0;
  const visits = setInterval(() => {
    if (database.rows.get(ID)?.state === 'running') handle.run('work 10', { execId: `e${(number += 1)}` }).catch(() => undefined);
  }, 1000);
  await run(sleep(5000));
  expect(await run(drained(first))).toBe('moved');
  clearInterval(visits);
});

test('one whose maker has died is removed, so that its next open begins anew', async () => {
  const { time, database, run, first, second } = played();
  using _time = time;
  const row = { ...OWNER, state: 'creating' as const, hostId: 'first', containerName: 'c', volumeName: 'v', options: {} };
  await database.sandboxes().ensure(row);
  expect(await run(drained(first))).toBe('in use');
  await run(sleep(300_000));
  expect(await run(drained(first, async () => 'works'))).toBe('in use');
  expect(await run(drained(first))).toBe('moved');
  expect(database.rows.get(ID)).toBeUndefined();
  await run(second.open());
  expect(database.rows.get(ID)).toMatchObject({ state: 'running', hostId: 'second' });
});

test.each(['stopped', 'lost'] as const)('one that is %s and has lost its files is made anew, and then moved', async (state) => {
  const { time, database, run, first, second } = played();
  using _time = time;
  await run(first.open());
  await run(first.worker.sandboxes.stop(ID));
  first.world.containers.clear();
  first.world.volumes.clear();
  if (state === 'lost') await run(database.sandboxes().change(ID, database.rows.get(ID)!.generation, { state }));
  await run(drained(first));
  expect(await run(drained(first))).toBe('moved');
  expect(database.rows.get(ID)).toMatchObject({ state: 'archived' });
  const { handle } = await run(second.worker.sandboxes.open(OWNER, {}));
  expect(await run(handle.run('work 10', { execId: 'e1' }))).toMatchObject({ status: 'exited' });
});

test('a warm sandbox that a conversation gets at this moment is not removed', async () => {
  for (let afterMs = 0; afterMs < 30; afterMs += 1) {
    const { time, database, run, first } = played();
    using _time = time;
    const { sandboxes } = first.world.worker();
    const keeping = sandboxes.keepWarm!([{ name: 'small', options: {}, size: 1 }]);
    const warm = () => [...database.rows.values()].find(({ state }) => state === 'warm');
    await until(time, () => warm() !== undefined);
    const { sandboxId } = warm()!;
    const evacuated = first.worker.sandboxes.evacuate!(sandboxId, free);
    await run(sleep(afterMs));
    const { handle } = await run(sandboxes.open({ sandboxId: 'sbx_new', conversationId: 'conv', tenantId: 'tenant' }, {}));
    await run(evacuated);
    expect(await run(handle.run('work 10', { execId: 'e1' }))).toMatchObject({ status: 'exited' });
    await run(Promise.resolve(keeping[Symbol.asyncDispose]()));
  }
});

test('one that two workers take at the same time leaves nothing behind, not even a volume that the engine makes for the later one', async () => {
  for (let afterMs = 0; afterMs < 60; afterMs += 1) {
    const { time, database, run, first } = played();
    using _time = time;
    await run(first.open());
    await run(first.worker.sandboxes.stop(ID));
    const another = first.world.worker().sandboxes;
    const evacuated = first.worker.sandboxes.evacuate!(ID, free);
    await run(sleep(afterMs));
    await run(another.evacuate!(ID, free));
    await run(evacuated);
    expect([database.rows.get(ID)?.state, [...first.world.volumes.keys()], first.world.containers.size]).toEqual(['archived', [], 0]);
    expect(database.blobIds()).toHaveLength(1);
  }
});

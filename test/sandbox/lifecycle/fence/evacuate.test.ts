import { FakeTime } from '../fakes/fake-time.ts';
import { type Host, ID, OWNER, twoHosts } from './hosts.ts';

const free = async () => 'no' as const;

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
  expect(await run(first.worker.sandboxes.evacuate!(ID, free))).toBe('moved');
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
  expect(await run(first.worker.sandboxes.evacuate!(ID, async () => 'works'))).toBe('in use');
  expect(await run(first.worker.sandboxes.evacuate!(ID, async () => 'waits'))).toBe('holds calls');
  expect(database.rows.get(ID)).toMatchObject({ hostId: 'first', state: 'frozen' });
});

test('one that another worker begins to use while it is looked at stays', async () => {
  const { time, database, run, first } = played();
  using _time = time;
  await run(first.open());
  const { handle } = await run(first.world.worker().sandboxes.open(OWNER, {}));
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

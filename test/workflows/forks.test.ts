import { asks, Stage, until } from './support.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

const fork = { conversationId: 'conv_source', transcriptSeq: 4, files: 'exact' as const };

test('a fork has its files before its first turn; messages that come meanwhile wait, and it is not rewound', async () => {
  let ready = (): void => undefined;
  const world = await stage.start(
    (world) => {
      world.answers.push(asks(), asks());
      world.files = () => new Promise((resolve) => (ready = () => resolve({ outcome: 'ready', sandboxTier: 'hibernated' })));
    },
    {},
    true,
    { fork },
  );
  await world.untilAsked('forkSandbox');
  await world.send('And this.');
  await expect(world.handle.executeUpdate('rewind', { args: [{ checkpointId: 'cp_1' }] })).rejects.toMatchObject({
    cause: { type: 'REWIND_REFUSED', message: expect.stringContaining('has not got its files yet') as string },
  });
  expect(await world.handle.query('status')).toMatchObject({ state: 'running', queued: 2, forkedFrom: { conversationId: 'conv_source', transcriptSeq: 4 } });
  type Metadata = { currentDetails: string };
  expect((await world.handle.query<Metadata>('__temporal_workflow_metadata')).currentDetails).toContain('Fork of `conv_source`, after entry 4');
  ready();
  await world.untilAsked('finishTurn', 2);
  expect(world.names().filter((name) => name !== 'saveStatus')).toEqual(['forkSandbox', 'callModel', 'finishTurn', 'callModel', 'finishTurn']);
  expect(world.asked('finishTurn')[0]).toMatchObject({ status: { sandboxTier: 'hibernated', turnsUsed: 1 } });
  await world.close();
});

test('a conversation shows its forks; that starts no activity, and a fork wakes nobody', async () => {
  const world = await stage.start();
  await world.untilAsked('finishTurn');
  await world.untilState('idle');
  const before = world.names();
  await world.handle.signal('forked', { conversationId: 'conv_fork', forks: 3 });
  await world.handle.signal('forked');
  type Metadata = { currentDetails: string };
  const details = async () => (await world.handle.query<Metadata>('__temporal_workflow_metadata')).currentDetails;
  await until(
    async () => (await details()).includes('Forks: `conv_fork`, … and 2 more, see `longshore show'),
    () => 'not shown',
  );
  expect(world.names()).toEqual(before);
  await world.close();
});

test('a fork that cannot have its files is closed before any turn', async () => {
  const world = await stage.start((world) => (world.files = async () => ({ outcome: 'failed', problem: 'gone' })), {}, true, { fork });
  await world.handle.result();
  expect(world.names()).toEqual(expect.not.arrayContaining(['callModel']));
  await until(
    async () => world.saved?.state === 'closed',
    () => 'not closed',
  );
});

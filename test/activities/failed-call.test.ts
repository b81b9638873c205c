import { failure } from '../../src/contracts/errors.ts';
import { setUpCall, until } from './fakes.ts';

const execOf = (call: ReturnType<typeof setUpCall>, number: number) => call.sandbox.execs.get(`call_1-${number}`)?.info;

test('a call that fails before its commands ends them and starts no more; what it started to run on by itself runs on', async () => {
  let goOn = () => {};
  const later = new Promise<void>((resolve) => (goOn = resolve));
  const refused: unknown[] = [];
  const call = setUpCall({
    async execute(_input, { sandbox }) {
      await sandbox.start('serve');
      const commands = [sandbox.exec('hang'), sandbox.exec('hang too')];
      for (const command of commands) command.catch(() => undefined);
      void later.then(() => sandbox.exec('more')).catch((error: unknown) => refused.push(error));
      await until(() => execOf(call, 3)?.state === 'running');
      throw new Error('its time is up');
    },
  });
  await call.propose();
  expect(await call.worker().execute()).toMatchObject({ outcome: 'finished', isError: true });
  expect(call.resultText()).toContain('its time is up');
  expect([1, 2, 3].map((number) => execOf(call, number)?.state)).toEqual(['running', 'ended', 'ended']);
  goOn();
  await until(() => refused.length === 1);
  expect(call.sandbox.starts).toEqual(['serve', 'hang', 'hang too']);
});

test('a call whose plugin ended during it is unknown; one that may be repeated has failed', async () => {
  const outcomeWith = async (annotations: { readOnlyHint?: boolean; idempotentHint?: boolean }) => {
    const execute = () => Promise.reject(failure('PLUGIN_ENDED', { tool: 'test:tool', why: 'it ran out of memory' }));
    const call = setUpCall({ isolation: 'compartment', annotations, execute });
    await call.propose();
    return [await call.worker().execute(), call.resultText()];
  };
  const why = 'test:tool failed: its process was ended: it ran out of memory';
  expect(await outcomeWith({})).toEqual([
    expect.objectContaining({ outcome: 'unknown' }),
    `It is not known whether this call took effect: ${why}\nCheck the current state before you repeat it.`,
  ]);
  for (const annotations of [{ readOnlyHint: true }, { idempotentHint: true }]) {
    expect(await outcomeWith(annotations)).toEqual([expect.objectContaining({ outcome: 'finished', isError: true }), why]);
  }
});

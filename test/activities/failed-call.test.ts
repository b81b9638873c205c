import { failure } from '../../src/contracts/errors.ts';
import { createCalls } from '../../src/plugins/isolates/calls.ts';
import type { CallUnderWay } from '../../src/plugins/isolates/capabilities.ts';
import type { PluginProcess } from '../../src/plugins/isolates/plugin-process.ts';
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

test('a call that may be repeated is repeated when the process of its plugin had other calls as well before it ended, four times at most', async () => {
  const endedAmongOthers = await errorOfEndAmongOthers();
  const execute = () => Promise.reject(endedAmongOthers);
  const call = setUpCall({ isolation: 'compartment', annotations: { readOnlyHint: true }, execute });
  await call.propose();
  for (let attempt = 1; attempt < 5; attempt += 1)
    await expect(call.worker().execute()).rejects.toThrow(
      'test:tool is repeated: its process, which has worked on other calls as well, was ended: it ran out of memory',
    );
  expect(await call.worker().execute()).toMatchObject({ outcome: 'finished', isError: true });
  expect(call.resultText()).toBe('test:tool failed: its process was ended: it ran out of memory');
});

test('a call that may not be repeated is unknown, whatever else its plugin worked on when it ended', async () => {
  const endedAmongOthers = await errorOfEndAmongOthers();
  const call = setUpCall({ isolation: 'compartment', annotations: {}, execute: () => Promise.reject(endedAmongOthers) });
  await call.propose();
  expect(await call.worker().execute()).toMatchObject({ outcome: 'unknown' });
});

/** Of a process that worked on two calls. */
async function errorOfEndAmongOthers(): Promise<unknown> {
  const caller = {} as CallUnderWay;
  const calls = createCalls({ ended: Promise.resolve('it ran out of memory') } as unknown as PluginProcess, 1_000);
  const [one, other] = [calls.begin('test:tool', caller), calls.begin('test:tool', caller)];
  for (const { id } of [one, other]) calls.hasBegun(id);
  const [ended] = await Promise.all([one, other].map(({ answer }) => answer.catch((error: unknown) => error)));
  return ended;
}

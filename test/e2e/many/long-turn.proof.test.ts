import { makeOwnTemporal, type OwnTemporal } from '../../support/own-temporal.ts';
import { killWorkersOfScript } from '../crashes/kill-workers-of-script.ts';
import { installAgents } from '../support.ts';

/** Events of a history: where Temporal suggests a new run, and where it ends a workflow. By default, these are 4,096 and 51,200. */
const LIMITS = { 'limit.historyCount.suggestContinueAsNew': 100, 'limit.historyCount.error': 800 };
const STEPS = 80;

let server: OwnTemporal;
const before = { ...process.env };
beforeAll(async () => {
  server = await makeOwnTemporal(LIMITS);
  process.env['TEMPORAL_ADDRESS'] = server.address;
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  process.env = before;
});

test('a turn may have more steps than the history of a workflow has room for', async () => {
  const steps = Array.from({ length: STEPS }, (_, step) => ({ call: 'shell:run', with: { command: `echo ${step} >> steps` } }));
  await using installation = await installAgents({
    stepper: { budget: { steps: STEPS * 2 }, steps: [...steps, { call: 'shell:run', with: { command: 'cat steps' } }, { say: 'Finished.' }] },
  });
  await installation.startWorker().ready;
  const chat = await installation.longshore.start({ agent: 'stepper', user: 'user-1', message: 'Begin.' });
  expect(await chat.reply()).toBe('Finished.');
  const events = await installation.store.events.read(chat.id, 0);
  const count = (wanted: string) => events.filter(({ type }) => type === wanted).length;
  expect([count('turn.started'), count('turn.finished'), count('step.finished'), count('tool.finished')]).toEqual([1, 1, STEPS + 2, STEPS + 1]);
  expect(events.findLast(({ type }) => type === 'tool.finished')?.data).toMatchObject({
    text: expect.stringContaining(steps.map((_, step) => step).join('\\n')) as string,
  });
  await chat.close();
});

test('so may code have more calls, also when workers are killed meanwhile', () => killWorkersOfScript({ kills: 4, rounds: 30 }), 900_000);

import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import type { Longshore } from '../../../src/client.ts';
import { installAgents, type Installation, type ScriptedStep } from '../support.ts';

/** Plans are written once and skills are read whole, however often workers are killed meanwhile. */
const PLANS = 8;
let installation: Installation;
let longshore: Longshore;
beforeAll(async () => {
  const steps = Array.from({ length: PLANS }, (_, index): ScriptedStep[] => [
    { call: 'plan:write', with: { items: [{ text: `Step ${index}`, status: 'in_progress' }] } },
    { call: 'skills:read', with: { skill: 'tide-tables' } },
    {
      call: 'shell:run',
      with: { command: `sleep 0.3; python3 /home/user/.longshore-skills/tide-tables/scripts/passage.py 5 && echo ${index} >> ran` },
      expect: { exitCode: 0 },
    },
  ]).flat();
  const count: ScriptedStep = {
    call: 'shell:run',
    with: { command: 'wc -l < ran; ls -A .longshore-skills' },
    expect: { exitCode: 0, stdout: `/^${PLANS}\\ntide-tables\\n$/` },
  };
  installation = await installAgents({ worker: { plan: true, skills: ['./skills/*'], steps: [...steps, count, { say: 'All is done.' }] } });
  await cp('examples/agents/skills', join(installation.environment['LONGSHORE_AGENTS'] ?? '', 'skills'), { recursive: true });
  ({ longshore } = installation);
}, 180_000);
afterAll(() => installation[Symbol.asyncDispose](), 180_000);

test('a worker that is killed again and again writes each plan once, in order, and leaves whole skills', async () => {
  await using chat = await longshore.start({ agent: 'worker', user: 'ann', message: 'Work.' });
  const replied = chat.reply();
  for (let kills = 0; kills < 3; kills += 1) {
    const worker = installation.startWorker();
    await worker.ready;
    const before = (await installation.store.events.read(chat.id, 0, { limit: 10_000 })).length;
    for await (const { seq } of chat.events({ afterSeq: before })) if (seq > before + 9) break;
    await worker.kill();
  }
  installation.startWorker();
  expect(await replied).toBe('All is done.');
  const events = await installation.store.events.read(chat.id, 0, { limit: 10_000 });
  const plans = events.flatMap((event) => (event.type === 'plan.changed' ? [event.data.items[0]?.text] : []));
  expect(plans).toEqual(Array.from({ length: PLANS }, (_, index) => `Step ${index}`));
  expect((await chat.status()).plan).toEqual([{ text: `Step ${PLANS - 1}`, status: 'in_progress' }]);
  await chat.close();
}, 240_000);

import { Client, Connection } from '@temporalio/client';
import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { connect, type Longshore } from '../../../src/client.ts';
import { planLines } from '../../../src/common/plan-text.ts';
import { runCommand } from '../../../src/platform/run-command.ts';
import { startApi } from '../../api/support.ts';
import { installAgents, type Installation, type ScriptedAgent, type ScriptedStep } from '../support.ts';

/** Plans that agents write, as readers of each kind see them. */
let installation: Installation;
let longshore: Longshore;
const item = (text: string, status: string) => ({ text, status });
const write = (...items: object[]): ScriptedStep => ({ call: 'plan:write', with: { items } }) as ScriptedStep;
const CODE = `
tools.plan.write(items=[{"text": "Written by code", "status": "pending"}])
print("written")
`;

beforeAll(async () => {
  const read = async (path: string) => parse(await readFile(`examples/agents/${path}`, 'utf8')) as Record<string, unknown>;
  const { tools, approval, plan } = await read('shipwright.yaml');
  const { steps } = (await read('scripts/shipwright.yaml')) as { steps: ScriptedStep[] };
  const shipwright: ScriptedAgent = { tools, approval, plan, steps };
  const bad = [
    write(item('x', 'started')),
    write(item('', 'pending')),
    write(item('x'.repeat(251), 'done')),
    write(...Array.from({ length: 51 }, () => item('x', 'done'))),
  ];
  installation = await installAgents({
    shipwright,
    planless: { steps: [write(item('x', 'done')), { say: 'I have no plan.' }] },
    // Asks for an approval of everything that needs one.
    clumsy: { plan: true, approval: [], steps: [...bad, write(item('<b>`#', 'done')), { say: 'Now it fits.' }] },
    coder: { plan: true, tools: ['code:*'], steps: [{ call: 'code:run', with: { language: 'python', code: CODE } }, { say: 'Done.' }] },
    eraser: { plan: true, steps: [write(item('x', 'done')), write(), { say: 'Nothing is left.' }] },
  });
  await installation.startWorker().ready;
  ({ longshore } = installation);
}, 180_000);
afterAll(() => installation[Symbol.asyncDispose](), 180_000);

const texts = (environment: NodeJS.ProcessEnv) => Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, value ?? '']));

async function detailsOf(conversationId: string): Promise<string> {
  const connection = await Connection.connect(process.env['TEMPORAL_ADDRESS'] === undefined ? {} : { address: process.env['TEMPORAL_ADDRESS'] });
  try {
    const { workflow } = new Client({ connection });
    const { currentDetails } = await workflow.getHandle(conversationId).query<{ currentDetails: string }>('__temporal_workflow_metadata');
    return currentDetails;
  } finally {
    await connection.close();
  }
}

async function plansIn(conversationId: string): Promise<string[][]> {
  const plans = [];
  for (const event of await installation.store.events.read(conversationId, 0)) if (event.type === 'plan.changed') plans.push(planLines(event.data.items));
  return plans;
}

test('the example keeps a plan that the log, the status over both transports and the details in Temporal have', async () => {
  await using service = await startApi(installation);
  await using remote = await connect({ url: service.url, apiKey: (await service.key()).authorization.slice('Bearer '.length) });
  await using chat = await longshore.start({ agent: 'shipwright', user: 'ann', message: 'Repair the boat.' });
  expect(await chat.reply()).toBe('The leak is at frame 7; I caulk it next.');
  const last = [item('Look for the leak', 'done'), item('Caulk the seam at frame 7', 'in_progress')];
  expect(await plansIn(chat.id)).toEqual([
    ['▸ Look for the leak', '○ Caulk it'],
    ['✓ Look for the leak', '▸ Caulk the seam at frame 7'],
  ]);
  const shown = await runCommand(process.execPath, ['--import', 'tsx', 'src/cli/main.ts', 'show', chat.id], { env: texts(installation.environment) });
  expect(shown.stdout).toContain('plan: 1 of 2 done\n  ✓ Look for the leak\n  ▸ Caulk the seam at frame 7\n');
  for (const client of [longshore, remote]) expect((await client.status(chat.id)).plan).toEqual(last);
  expect(await detailsOf(chat.id)).toContain('Plan, 1 of 2 done:\n\n- ✓ `Look for the leak`\n- ▸ `Caulk the seam at frame 7`');
  await chat.close();
}, 120_000);

test('an agent without the key has no such tool; items that are no plan are refused, and nothing asks a person or opens a sandbox', async () => {
  await using planless = await longshore.start({ agent: 'planless', user: 'ann', message: 'Plan.' });
  expect(await planless.reply()).toBe('I have no plan.');
  expect(await plansIn(planless.id)).toEqual([]);
  await using chat = await longshore.start({ agent: 'clumsy', user: 'ann', message: 'Plan.' });
  expect(await chat.reply()).toBe('Now it fits.');
  expect(await plansIn(chat.id)).toEqual([['✓ <b>`#']]);
  const { plan, sandboxTier } = await chat.status();
  expect({ plan, sandboxTier }).toEqual({ plan: [item('<b>`#', 'done')], sandboxTier: 'none' });
  expect(await detailsOf(chat.id)).toContain('- ✓ `<b>\\u0060#`');
  const results = (await chat.transcript()).flatMap(({ entry }) => (entry.role === 'tool' ? [entry.isError] : []));
  expect(results).toEqual([true, true, true, true, false]);
  await Promise.all([planless.close(), chat.close()]);
}, 120_000);

test('code writes the plan, too, and an empty plan is none', async () => {
  await using coder = await longshore.start({ agent: 'coder', user: 'ann', message: 'Plan.' });
  expect(await coder.reply()).toBe('Done.');
  expect((await coder.status()).plan).toEqual([item('Written by code', 'pending')]);
  expect(await detailsOf(coder.id)).toContain('- ○ `Written by code`');
  await using eraser = await longshore.start({ agent: 'eraser', user: 'ann', message: 'Plan.' });
  expect(await eraser.reply()).toBe('Nothing is left.');
  expect((await eraser.status()).plan).toBeUndefined();
  expect(await detailsOf(eraser.id)).not.toContain('Plan');
  await Promise.all([coder.close(), eraser.close()]);
}, 120_000);

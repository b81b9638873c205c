import { fileURLToPath } from 'node:url';
import type { Chat } from '../../../src/client.ts';
import { saidIn } from '../../../src/contracts/transcript.ts';
import { runCommand } from '../../../src/platform/run-command.ts';
import { ownSandboxIdOf } from '../../../src/plugins/dialects/shared/python/own-sandboxes.ts';
import { startApi, type TestApi } from '../../api/support.ts';
import { runLine } from '../../cli/support.ts';
import { canInstall } from '../../support/python-packages.ts';
import { installAgents, until, type Installation, type WorkerProcess } from '../support.ts';
import { withinPlugin } from './within-plugin.ts';

const GATE = fileURLToPath(new URL('../../fixtures/plugins/nekro-webhooks', import.meta.url));
const ID = 'harbour-gate';

let installation: Installation;
let service: TestApi;
let worker: WorkerProcess;
beforeAll(async () => {
  installation = await installAgents({ keeper: { plugins: [GATE], tools: [`${ID}:*`], steps: [{ say: 'Ahoy.' }, { say: 'Seen.' }] } });
  service = await startApi(installation);
});
afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await installation?.[Symbol.asyncDispose]();
});

const log = () => withinPlugin(installation, ID, 'default', 'cat data/plugin/log');
const linesOfLog = async () => (await log()).trimEnd().split('\n');
const countersOf = async (webhookId: string) => (await installation.longshore.plugins.webhooks(ID)).find((each) => each.webhookId === webhookId);

async function startWorker(): Promise<void> {
  worker = installation.startWorker();
  await worker.ready;
}

async function sentBy(chat: Chat): Promise<unknown[]> {
  return (await installation.store.events.read(chat.id, 0)).flatMap((event) => (event.type === 'message.sent' ? [event.data.part] : []));
}

async function said(chat: Chat): Promise<string[]> {
  return (await chat.transcript()).flatMap(({ entry }) => (entry.role === 'assistant' ? [saidIn(entry)] : []));
}

async function post(path: string, body: object, headers: Record<string, string> = {}): Promise<{ status: number; requestId: string; repeated: boolean }> {
  const given = { 'content-type': 'application/json', 'x-harbour-event': 'arrival', ...headers };
  const answer = await fetch(service.url + path, { method: 'POST', headers: given, body: JSON.stringify(body) });
  return { status: answer.status, ...((await answer.json()) as { requestId: string; repeated: boolean }) };
}

((await canInstall('pydantic')) ? describe : describe.skip)('webhooks of a plugin that is written for Nekro Agent, in Python', () => {
  let chat: Chat;
  let ship: Awaited<ReturnType<Installation['longshore']['plugins']['addWebhook']>>;

  test('a request reaches the function, and what it sends reaches the conversations that have the plugin', async () => {
    await startWorker();
    await until(async () => (await installation.longshore.plugins.list()).some(({ id }) => id === ID), 'the worker has reported the plugin');
    chat = await installation.longshore.start({ agent: 'keeper', user: 'user-1', message: 'Ahoy.' });
    expect(await chat.reply()).toBe('Ahoy.');
    ship = await installation.longshore.plugins.addWebhook(ID, { endpoint: 'ship' });
    expect(await post(ship.path, { ship: 'Aurora', wake: true })).toMatchObject({ status: 202, repeated: false });
    await until(async () => (await said(chat)).includes('Seen.'), 'the function has woken the conversation');
    expect(await sentBy(chat)).toEqual([{ type: 'text', text: 'Aurora has come' }]);
    await until(async () => (await countersOf(ship.webhookId))?.delivered === 1, 'it is delivered');
    expect(await linesOfLog()).toEqual(['Aurora arrival 29']);
    expect(await countersOf(ship.webhookId)).toMatchObject({ waiting: 0, failed: 0, tenantId: 'default', endpoint: 'ship' });
  }, 300_000);

  test('a request that is accepted before the service dies, and while no worker runs, is delivered once by the next worker', async () => {
    await worker.kill();
    const accepted = await post(ship.path, { ship: 'Boreas' }, { 'x-github-delivery': 'one' });
    expect(accepted.status).toBe(202);
    await service[Symbol.asyncDispose]();
    service = await startApi(installation);
    expect(await post(ship.path, { ship: 'Boreas' }, { 'x-github-delivery': 'one' })).toEqual({ ...accepted, repeated: true });
    const row = await installation.store.sandboxes.get(ownSandboxIdOf(ID, 'default'));
    await runCommand('docker', ['kill', row?.containerName ?? '']);
    await startWorker();
    await until(async () => (await countersOf(ship.webhookId))?.delivered === 2, 'it is delivered');
    expect((await linesOfLog()).slice(1)).toEqual(['Boreas arrival 17']);
    expect((await sentBy(chat)).slice(1)).toEqual([{ type: 'text', text: 'Boreas has come' }]);
  }, 300_000);

  test('when the worker is killed while the function runs, the next one takes its answer, and the function is not called again', async () => {
    await post(ship.path, { ship: 'Ceres', wait: true });
    await until(async () => (await linesOfLog()).length === 3, 'the function runs');
    await worker.kill();
    await withinPlugin(installation, ID, 'default', 'touch data/plugin/go-on');
    await startWorker();
    await until(async () => (await countersOf(ship.webhookId))?.delivered === 3, 'it is delivered');
    expect((await linesOfLog()).slice(2)).toEqual(['Ceres arrival 28']);
    expect((await sentBy(chat)).slice(2)).toEqual([{ type: 'text', text: 'Ceres has come' }]);
  }, 300_000);

  test('when the container dies while the function runs, it is not known whether it took effect, and the function is not called again', async () => {
    await withinPlugin(installation, ID, 'default', 'rm data/plugin/go-on');
    await post(ship.path, { ship: 'Dione', wait: true });
    await until(async () => (await linesOfLog()).length === 4, 'the function runs');
    const row = await installation.store.sandboxes.get(ownSandboxIdOf(ID, 'default'));
    await runCommand('docker', ['kill', row?.containerName ?? '']);
    await until(async () => (await countersOf(ship.webhookId))?.failed === 1, 'it has failed');
    expect((await countersOf(ship.webhookId))?.problem).toMatch(/so it is not known whether it took effect/);
    expect((await linesOfLog()).slice(3)).toEqual(['Dione arrival 28']);
  }, 300_000);

  test('a function that fails says so, and those of another tenant are called in a sandbox of their own', async () => {
    const storm = await installation.longshore.plugins.addWebhook(ID, { endpoint: 'storm' });
    const north = await installation.longshore.plugins.addWebhook(ID, { endpoint: 'ship', tenant: 'north' });
    await post(storm.path, {});
    await post(north.path, { ship: 'Eos' });
    await until(async () => (await countersOf(storm.webhookId))?.failed === 1, 'it has failed');
    expect((await countersOf(storm.webhookId))?.problem).toBe('RuntimeError: the gate is broken');
    await until(async () => (await countersOf(north.webhookId))?.delivered === 1, 'it is delivered');
    expect(await withinPlugin(installation, ID, 'north', 'cat data/plugin/log')).toBe('Eos arrival 14\n');
    // The tenant has no conversation, and those of others are not told.
    expect(await sentBy(chat)).toHaveLength(3);
    await chat.close();
  }, 300_000);

  test('operators make addresses, see what became of requests, and end addresses with the command', async () => {
    const run = async (...args: string[]) => runLine(installation.longshore, ['plugins', 'webhooks', ID, ...args], { environment: installation.environment });
    const made = await run('--add', 'storm', '--tenant', 'north');
    expect(made.out).toMatch(
      /^(\w{12}): requests to this address reach "storm" of harbour-gate, for the tenant north:\n<the address of your service>\/plugin-webhooks\/lsw_\1_\w{38}\nIt is shown only now\./,
    );
    const listed = await run();
    expect(listed.out).toContain('harbour-gate has the webhook "ship", A ship, Tells of a ship\nharbour-gate has the webhook "storm", A storm\n');
    expect(listed.out).toMatch(/ +storm +default +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +0 +0 +1 +RuntimeError: the gate is broken/);
    const webhookId = made.out.slice(0, 12);
    expect((await run('--remove', webhookId)).out).toBe(`${webhookId} has ended; requests to its address are refused.\n`);
    expect(await run('--remove', webhookId)).toMatchObject({ code: 1 });
    for (const wrong of [
      ['--add', 'ship', '--remove', webhookId],
      ['--tenant', 'north'],
    ])
      expect(await run(...wrong)).toMatchObject({ code: 2 });
    const { out } = await runLine(undefined, ['plugins', 'check', GATE], { environment: installation.environment });
    expect(out).toContain('\nharbour-gate:webhook.ship (tool, hidden, own)\n  Called by an outside system: Tells of a ship\n');
    expect(out).not.toContain('WEBHOOK');
  }, 120_000);
});

import { randomBytes } from 'node:crypto';
import type { PluginRequest } from '../../src/store/service/plugin-webhooks.ts';
import { install, type Installation } from '../e2e/support.ts';
import { startApi, type TestApi } from './support.ts';

/** Addresses at which outside systems reach a plugin, as the service serves them. Nothing delivers here: no worker runs. */
const PLUGIN = 'harbour-gate';
let installation: Installation;
let service: TestApi;
beforeAll(async () => {
  installation = await install([{ say: 'Ahoy.' }]);
  service = await startApi(installation, {}, { publicUrl: 'https://longshore.example/base' });
  const webhooks = [{ endpoint: 'ship', name: 'A ship', description: '' }];
  const report = { name: './gate', health: 'loaded' as const, pluginId: PLUGIN, tools: ['webhook.ship'], permissions: {}, alerts: [], webhooks };
  await installation.store.plugins.report('host-1', report);
}, 120_000);
afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await installation?.[Symbol.asyncDispose]();
});

const make = (tenant?: string) => installation.longshore.plugins.addWebhook(PLUGIN, { endpoint: 'ship', ...(tenant !== undefined && { tenant }) });
const taken = (tenantId: string) => installation.store.pluginWebhooks.claim({ pluginId: PLUGIN, tenantId });

async function send(path: string, body?: string | Buffer, headers: Record<string, string> = {}, method = 'POST') {
  const answer = await fetch(service.url + path, { method, headers, ...(body !== undefined && { body }) });
  const text = await answer.text();
  const said = (text.startsWith('{') ? JSON.parse(text) : {}) as { code?: string; detail?: string; requestId?: string; repeated?: boolean };
  return { status: answer.status, retryAfter: answer.headers.get('retry-after'), ...said };
}

/** The request that a worker would be given next. */
async function arrived(tenantId: string): Promise<PluginRequest> {
  const request = await taken(tenantId);
  if (!request) throw new Error('nothing has arrived');
  await installation.store.pluginWebhooks.end(request.requestId);
  return request;
}

test('an operator makes an address, sees how it is used, and ends it; its secret is shown once', async () => {
  const key = { ...(await service.key(['admin'])), 'content-type': 'application/json' };
  const answer = await fetch(`${service.url}/v1/plugins/${PLUGIN}/webhooks`, { method: 'POST', headers: key, body: '{"endpoint":"ship","tenant":"east"}' });
  const made = (await answer.json()) as { url: string; path: string; webhookId: string };
  expect([answer.status, made.url]).toEqual([201, `https://longshore.example/base${made.path}`]);
  expect(made.path).toMatch(/^\/plugin-webhooks\/lsw_[0-9A-Za-z]{12}_[0-9A-Za-z]{38}$/);
  await send(made.path, '{}');
  const list = await fetch(`${service.url}/v1/plugins/${PLUGIN}/webhooks`, { headers: key });
  const { webhooks } = (await list.json()) as { webhooks: object[] };
  expect(webhooks).toMatchObject([{ webhookId: made.webhookId, plugin: PLUGIN, tenantId: 'east', endpoint: 'ship', waiting: 1, delivered: 0, failed: 0 }]);
  expect(JSON.stringify(webhooks)).not.toContain(made.path.slice(-38));
  const end = () => fetch(`${service.url}/v1/plugins/${PLUGIN}/webhooks/${made.webhookId}`, { method: 'DELETE', headers: key });
  expect((await end()).status).toBe(204);
  expect(await send(made.path, '{}')).toMatchObject({ status: 410, code: 'LINK_ENDED' });
  expect(await taken('east')).toBeUndefined();
  expect(await (await end()).json()).toMatchObject({
    code: 'PLUGIN_WEBHOOK_NOT_FOUND',
    detail: `Plugin "${PLUGIN}" has no webhook "${made.webhookId}". List them with: longshore plugins webhooks ${PLUGIN}`,
  });
});

test('an address for what the plugin does not have is refused, and a plugin has 20 of a tenant', async () => {
  const { plugins } = installation.longshore;
  await expect(plugins.addWebhook(PLUGIN, { endpoint: 'storm' })).rejects.toThrow(/plugin "harbour-gate" has none that is called "storm"; it has "ship"/);
  await expect(plugins.addWebhook('absent', { endpoint: 'ship' })).rejects.toMatchObject({ code: 'PLUGIN_NOT_FOUND' });
  for (let count = 0; count < 20; count += 1) await make('crowd');
  await expect(make('crowd')).rejects.toThrow(/^Plugin "harbour-gate" has 20 webhooks of the tenant crowd, as many as it may\./);
});

test('any body and all harmless headers arrive as they were sent, and nothing of the sender is taken for the tenant or the plugin', async () => {
  const { path } = await make('north');
  const bytes = randomBytes(1_000_000);
  const { text: key } = await installation.longshore.keys.create({ name: 'leaked', scopes: ['admin'] });
  const odd = { 'X-Hub-Signature-256': 'sha256=00', cookie: 'a=b', authorization: `Bearer ${key}`, 'x-tenant': 'south', 'x-forwarded-for': '10.0.0.1' };
  expect(await send(`${path}?tenant=south&plugin=other&endpoint=storm`, bytes, { ...odd, 'content-type': 'application/octet-stream' })).toMatchObject({
    status: 202,
  });
  const request = await arrived('north');
  expect(request.body.equals(bytes)).toBe(true);
  expect(request.endpoint).toBe('ship');
  expect(request.headers).toMatchObject({ 'x-hub-signature-256': 'sha256=00', 'content-type': 'application/octet-stream', 'x-tenant': 'south' });
  expect(Object.keys(request.headers).filter((name) => ['cookie', 'authorization', 'host', 'connection'].includes(name))).toEqual([]);
  const deep = '['.repeat(200_000) + ']'.repeat(200_000);
  for (const [body, type] of [
    [deep, 'application/json'],
    ['{"a":', 'application/json'],
    ['a=b', 'application/x-www-form-urlencoded'],
    ['\0\ud800', 'text/plain'],
  ] as const) {
    expect(await send(path, body, { 'content-type': type })).toMatchObject({ status: 202, repeated: false });
    expect((await arrived('north')).body.toString()).toBe(Buffer.from(body).toString());
  }
  expect(await send(path)).toMatchObject({ status: 202 });
  expect((await arrived('north')).body).toHaveLength(0);
  expect(await taken('south')).toBeUndefined();
});

test('what is too long, what is no such address, and another method are refused, and nothing is stored', async () => {
  const { path, webhookId } = await make('west');
  expect(await send(path, Buffer.alloc(1_000_001))).toMatchObject({ status: 413, code: 'BODY_TOO_LARGE' });
  const changed = path.slice(0, -1) + (path.endsWith('0') ? '1' : '0');
  const foreign = (await make('east')).path.split('_').at(-1) ?? '';
  const forged = [
    changed,
    `/plugin-webhooks/lsw_${webhookId}_${foreign}`,
    '/plugin-webhooks/',
    `/plugin-webhooks/${'a'.repeat(250)}`,
    '/plugin-webhooks/lsf_a_b',
  ];
  for (const each of forged)
    expect(await send(each, '{}')).toMatchObject({ status: 410, code: 'LINK_ENDED', detail: expect.stringMatching(/^This link is not valid/) as string });
  for (const method of ['GET', 'PUT', 'DELETE']) expect(await send(path, undefined, {}, method)).toMatchObject({ status: 404, code: 'ROUTE_NOT_FOUND' });
  expect(await taken('west')).toBeUndefined();
});

test('a request that is repeated is one request; a flood is refused, and keeps no other caller of the tenant out', async () => {
  await installation.longshore.limits.set({ tenant: 'flooded', requestsPerMinute: 5 });
  const { path } = await make('flooded');
  const [first, again, other] = [
    await send(path, 'one', { 'webhook-id': 'msg_1' }),
    await send(path, 'two', { 'webhook-id': 'msg_1' }),
    await send(path, 'two', { 'webhook-id': 'msg_2' }),
  ];
  expect([first, again, other]).toMatchObject([
    { status: 202, repeated: false },
    { status: 202, repeated: true, requestId: first?.requestId },
    { status: 202, repeated: false },
  ]);
  const answers = await Promise.all(Array.from({ length: 130 }, () => send(path, '{}')));
  const refused = answers.filter(({ status }) => status !== 202);
  expect(refused).toHaveLength(12);
  expect(refused[0]).toMatchObject({ status: 429, code: 'PLUGIN_WEBHOOK_BUSY', retryAfter: '60' });
  expect(refused[0]?.detail).toBe('This webhook takes no request now: it has taken 120 within a minute, as many as it may. Send it again in 60 s');
  const key = await service.key(['conversations:read'], 'flooded');
  expect((await fetch(`${service.url}/v1/conversations`, { headers: key })).status).toBe(200);
}, 60_000);

import { Client, Connection } from '@temporalio/client';
import { connect, type AuditEntry, type Chat, type Longshore } from '../../src/client.ts';
import type { AuditAction } from '../../src/contracts/audit.ts';
import { installAgents, textIn, untilEvent, type Installation } from '../e2e/support.ts';
import { runLine } from '../cli/support.ts';
import { startApi, type TestApi } from './support.ts';

const approval = [{ tool: 'shell:run', decide: 'ask' }];
const calls = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ call: 'shell:run', with: { command: `canary-${at}` }, expect: { isError: true } }));

let installation: Installation;
let service: TestApi;
const open: Chat[] = [];
beforeAll(async () => {
  installation = await installAgents({
    one: { approval, steps: [...calls(1), { say: 'I see.' }] },
    late: { approval, approvalTimeout: '300ms', steps: [...calls(1), { say: 'No answer came.' }] },
  });
  await installation.startWorker().ready;
  service = await startApi(installation);
}, 180_000);
afterAll(async () => {
  await Promise.all(open.map((chat) => chat.close()));
  await service[Symbol.asyncDispose]();
  await installation[Symbol.asyncDispose]();
}, 180_000);

/** A conversation whose call waits for an answer. */
async function waiting(tenant: string, agent = 'one'): Promise<{ chat: Chat; callId: string; hash: string }> {
  const chat = await installation.longshore.start({ agent, user: 'user-1', tenant, message: 'Begin.' });
  open.push(chat);
  const { data } = await untilEvent(chat, ({ type }) => type === 'tool.approval-requested');
  return { chat, callId: textIn(data, 'callId'), hash: textIn(data, 'hash') };
}

async function audit(headers: Record<string, string>, query = ''): Promise<{ entries: AuditEntry[]; next?: string }> {
  const answer = await fetch(`${service.url}/v1/audit?${query}`, { headers });
  expect(answer.status).toBe(200);
  return (await answer.json()) as { entries: AuditEntry[]; next?: string };
}
const idOf = ({ authorization }: { authorization: string }): string => authorization.split('_')[1] ?? '';

test('an answer over HTTP has two rows: who gave it, and that it took effect; neither has what the call says', async () => {
  const { chat, callId } = await waiting('north');
  const desk = await service.key(['approvals:resolve'], 'north');
  const answer = await fetch(`${service.url}/v1/approvals/${callId}`, {
    method: 'POST',
    headers: { ...desk, 'content-type': 'application/json' },
    body: JSON.stringify({ answer: 'deny', reason: 'canary-reason', by: 'ada' }),
  });
  expect(answer.status).toBe(200);
  const { entries } = await audit(await service.key(['admin'], 'north'), `target=${callId}`);
  expect(entries).toMatchObject([
    {
      action: 'approval.resolved',
      actor: { kind: 'conversation', id: chat.id },
      details: { conversationId: chat.id, tool: 'shell:run', answer: 'deny', by: 'ada' },
    },
    { action: 'approval.answer', actor: { kind: 'key', id: idOf(desk) }, tenantId: 'north', details: { conversationId: chat.id, answer: 'deny' } },
  ]);
  expect(entries[1]?.requestId).toMatch(/^[0-9a-f-]{36}$/);
  expect(JSON.stringify(entries)).not.toContain('canary');
}, 60_000);

test('an answer that did not come through Longshore has a row, and so has the end of an approval without an answer', async () => {
  const { chat, callId, hash } = await waiting('north');
  const connection = await Connection.connect({ address: installation.environment['TEMPORAL_ADDRESS'] ?? '127.0.0.1:7233' });
  try {
    const temporal = new Client({ connection }).workflow.getHandle(chat.id);
    await temporal.executeUpdate('resolveApproval', { args: [{ callId, hash, answer: 'deny' }] });
  } finally {
    await connection.close();
  }
  const late = await waiting('north', 'late');
  await late.chat.reply();
  const operator = await service.key(['admin']);
  expect((await audit(operator, `target=${callId}`)).entries).toMatchObject([{ action: 'approval.resolved', details: { answer: 'deny' } }]);
  const { entries } = await audit(operator, `target=${late.callId}`);
  expect(entries).toMatchObject([{ action: 'approval.resolved', details: { answer: 'expired', by: 'policy' } }]);
}, 60_000);

test('an answer that was refused has a row that says it was tried, and none that it took effect', async () => {
  const { chat, callId } = await waiting('north');
  await expect(chat.approve({ callId, answer: 'allow', hash: 'another' })).rejects.toMatchObject({ code: 'APPROVAL_MISMATCH' });
  const { entries } = await audit(await service.key(['admin']), `target=${callId}`);
  expect(entries).toMatchObject([{ action: 'approval.answer', actor: { kind: 'login' }, details: { answer: 'allow' } }]);
  expect(entries).toHaveLength(1);
}, 60_000);

test('a tenant sees its own rows, in pages without gaps, newest first; an operator sees all', async () => {
  const [south, operator] = [await service.key(['admin'], 'south'), await service.key(['admin'])];
  for (let count = 0; count < 5; count += 1) {
    const made = await fetch(`${service.url}/v1/keys`, { method: 'POST', headers: { ...south, 'content-type': 'application/json' }, body: JSON.stringify({ name: `k${count}`, scopes: ['admin'] }) }); // prettier-ignore
    const { keyId } = (await made.json()) as { keyId: string };
    await fetch(`${service.url}/v1/keys/${keyId}`, { method: 'DELETE', headers: south });
  }
  const all = (await audit(south)).entries;
  expect(new Set(all.map(({ tenantId }) => tenantId))).toEqual(new Set(['south']));
  expect(all.filter(({ actor: { kind } }) => kind === 'key').map(({ action }) => action)).toEqual(
    Array.from({ length: 5 }, () => ['key.revoke', 'key.create']).flat(),
  );
  const paged: AuditEntry[] = [];
  for (let cursor: string | undefined = ''; cursor !== undefined;) {
    const page: { entries: AuditEntry[]; next?: string } = await audit(south, `limit=3${cursor === '' ? '' : `&cursor=${cursor}`}`);
    paged.push(...page.entries);
    cursor = page.next;
  }
  expect(paged).toEqual(all);
  expect((await audit(south, 'tenant=north')).entries).toEqual([]);
  expect((await audit(operator, 'tenant=north')).entries.length).toBeGreaterThan(0);
  for (const odd of ['cursor=abc', 'since=soon', 'since=-000001-01-01', 'limit=0']) {
    const refused = await fetch(`${service.url}/v1/audit?${odd}`, { headers: operator });
    expect([odd, refused.status, (await refused.json() as { code: string }).code]).toEqual([odd, 400, 'INVALID_ARGUMENT']); // prettier-ignore
  }
}, 60_000);

test('the command line shows it, with who closed a conversation', async () => {
  const { chat } = await waiting('east');
  await chat.close();
  const { code, out } = await runLine(installation.longshore, ['audit', '--action', 'conversation.close', '--target', chat.id]);
  expect([code, out]).toEqual([
    0,
    expect.stringMatching(/^TIME +ACTOR +TENANT +ACTION +TARGET +DETAILS\n\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +login \S+ +east +conversation\.close +conv_\w+\n$/),
  ]);
  const page = await runLine(installation.longshore, ['audit', '--tenant', 'south', '--since', '1h', '--limit', '2', '--json']);
  expect((JSON.parse(page.out) as { entries: AuditEntry[] }).entries.map(({ tenantId }) => tenantId)).toEqual(['south', 'south']);
  expect((await runLine(installation.longshore, ['audit', '--actor', 'unknown'])).out).toBe('Nothing.\n');
}, 60_000);

test('limits that are set are noted with who set them, also those that are taken away', async () => {
  const operator = await service.key(['admin']);
  const put = (limits: object) =>
    fetch(`${service.url}/v1/limits`, {
      method: 'PUT',
      headers: { ...operator, 'content-type': 'application/json' },
      body: JSON.stringify({ tenant: 'west', ...limits }),
    });
  expect((await put({ requestsPerMinute: 5 })).status).toBe(200);
  expect((await put({})).status).toBe(200);
  const actor = { kind: 'key', id: idOf(operator) };
  const rows = [
    { action: 'limits.set', target: 'tenant:west', tenantId: 'west', actor, details: {} },
    { action: 'limits.set', target: 'tenant:west', tenantId: 'west', actor, details: { requestsPerMinute: 5 } },
  ];
  expect((await audit(operator, 'action=limits.set')).entries).toMatchObject(rows);
  expect((await audit(await service.key(['admin'], 'west'), 'action=limits.set')).entries).toHaveLength(2);
});

describe.each(['the database', 'HTTP'] as const)('over %s', (transport) => {
  const tenant = transport === 'HTTP' ? 'south-http' : 'south-direct';
  /** The client of this transport, and who it is in the audit log. */
  async function client(): Promise<{ longshore: Longshore; actor: object; end: () => Promise<void> }> {
    if (transport === 'the database') return { longshore: installation.longshore, actor: { kind: 'login' }, end: async () => undefined };
    const key = await service.key(['admin']);
    const longshore = await connect({ url: service.url, apiKey: key.authorization.split(' ')[1] ?? '' });
    return { longshore, actor: { kind: 'key', id: idOf(key) }, end: async () => longshore[Symbol.asyncDispose]() };
  }

  test('who makes, changes, runs and removes a schedule is noted, for its tenant, and nothing that a user wrote', async () => {
    const { longshore, actor, end } = await client();
    const id = `audited-${tenant}-${Date.now()}`;
    await longshore.schedules.create({ id, agent: 'one', user: 'user-1', tenant, message: 'canary-message', every: '1d' });
    await expect(longshore.schedules.create({ id, agent: 'none', user: 'user-1', message: 'x', every: '1d' })).rejects.toMatchObject({
      code: 'AGENT_NOT_FOUND',
    });
    await longshore.schedules.pause(id, { note: 'canary-note' });
    await longshore.schedules.resume(id);
    await longshore.schedules.trigger(id);
    await longshore.schedules.delete(id);
    await expect(longshore.schedules.delete(id)).rejects.toMatchObject({ code: 'SCHEDULE_NOT_FOUND' });
    const { entries } = await installation.longshore.audit.list({ target: id });
    expect(entries).toMatchObject([
      { action: 'schedule.remove', actor, tenantId: tenant, details: {} },
      { action: 'schedule.trigger', actor, tenantId: tenant, details: {} },
      { action: 'schedule.change', actor, tenantId: tenant, details: { change: 'resume' } },
      { action: 'schedule.change', actor, tenantId: tenant, details: { change: 'pause' } },
      { action: 'schedule.create', actor, tenantId: tenant, details: { agent: 'one' } },
    ]);
    expect(JSON.stringify(entries)).not.toMatch(/canary|user-1/);
    expect((await audit(await service.key(['admin'], tenant), `target=${id}`)).entries).toEqual(entries);
    expect((await audit(await service.key(['admin'], 'east'), `target=${id}`)).entries).toEqual([]);
    await end();
  }, 60_000);

  test('who has a plugin loaded again is noted', async () => {
    const { longshore, actor, end } = await client();
    await installation.store.plugins.report('host-1', { name: './tides', pluginId: 'tides', health: 'loaded', tools: [], permissions: {}, alerts: [] });
    const before = (await installation.longshore.audit.list({ action: 'plugin.reload' })).entries.length;
    await longshore.plugins.reload('tides');
    await expect(longshore.plugins.reload('no-such-plugin')).rejects.toMatchObject({ code: 'PLUGIN_NOT_FOUND' });
    const { entries } = await installation.longshore.audit.list({ action: 'plugin.reload' });
    expect(entries).toHaveLength(before + 1);
    expect(entries[0]).toMatchObject({ target: 'tides', actor });
    expect(entries[0]).not.toHaveProperty('tenantId');
    await end();
  }, 60_000);
});

test('the model of an agent is told without the place of its files', async () => {
  const answer = await fetch(`${service.url}/v1/agents`, { headers: await service.key(['conversations:read'], 'north') });
  const { agents } = (await answer.json()) as { agents: { model: string }[] };
  expect(agents).toHaveLength(2);
  for (const { model } of agents) expect(model).toMatch(/^scripted\/[^/]+$/);
});

test('an action that is not in the log and that no program writes is refused, so that a misspelt one is not taken for "nothing happened"', async () => {
  const headers = await service.key(['admin'], 'north');
  const answer = await fetch(`${service.url}/v1/audit?action=approval.anser`, { headers });
  const problem = (await answer.json()) as { code: string; detail: string };
  expect([answer.status, problem.code]).toEqual([400, 'INVALID_ARGUMENT']);
  expect(problem.detail).toContain('"approval.anser" is no action of the audit log. Use one of approval.answer, ');
  const line = await runLine(installation.longshore, ['audit', '--action', 'typo']);
  expect([line.code, line.err]).toEqual([2, expect.stringContaining('"typo" is no action of the audit log. Use one of ')]);
  // One that is known and did not happen is an empty list.
  expect(await audit(headers, 'action=plugin.erase')).toEqual({ entries: [] });
});

test('an action that a newer version has written is found', async () => {
  await installation.store.audit.add({ actor: { kind: 'login', id: 'ada' }, action: 'moon.phase' as AuditAction, target: 'moon' });
  expect((await installation.longshore.audit.list({ action: 'moon.phase' })).entries).toMatchObject([{ action: 'moon.phase', target: 'moon' }]);
});

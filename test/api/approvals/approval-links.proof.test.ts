import { Client as TemporalClient, Connection } from '@temporalio/client';
import { Client } from 'pg';
import type { AuditEntry, Chat } from '../../../src/client.ts';
import { installAgents, resultsOf, textIn, until, untilEvent, type Installation } from '../../e2e/support.ts';
import { startApi, type TestApi } from '../support.ts';

const HOSTILE = `</pre><script>alert(1)</script><img src=x onerror="x">'\u202Egnp`;
const call = (command: string, isError = true) => ({ call: 'shell:run', with: { command }, ...(isError && { expect: { isError } }) });
const approval = [{ tool: 'shell:run', decide: 'ask' }];

let installation: Installation;
let service: TestApi;
let other: TestApi;
const open: Chat[] = [];
beforeAll(async () => {
  installation = await installAgents({
    allowed: { approval, steps: [call('echo ran', false), { say: 'Done.' }] },
    hostile: { approval, steps: [call(HOSTILE), { say: 'I see.' }] },
    long: { approval, steps: [call(`echo ${'x'.repeat(60_000)}; echo hidden`), { say: 'I see.' }] },
  });
  service = await startApi(installation);
  Object.assign(installation.environment, { LONGSHORE_PUBLIC_URL: `${service.url}/`, LONGSHORE_TEMPORAL_LINKS: 'yes' });
  await installation.startWorker().ready;
  other = await startApi(installation, {}, { publicUrl: 'https://longshore.example/base/' });
}, 180_000);
afterAll(async () => {
  await Promise.all(open.map((chat) => chat.close()));
  await Promise.all([service, other].map((each) => each[Symbol.asyncDispose]()));
  await installation[Symbol.asyncDispose]();
}, 180_000);

interface Link {
  linkId: string;
  url: string;
  expiresAt: string;
}

async function makeLink(
  callId: string,
  options: { headers?: Record<string, string>; body?: object; at?: TestApi } = {},
): Promise<{ status: number; link: Link }> {
  const { headers = await service.key(['approvals:resolve'], 'north'), body = {}, at = service } = options;
  const answer = await fetch(`${at.url}/v1/approvals/${callId}/link`, { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) }); // prettier-ignore
  return { status: answer.status, link: (await answer.json()) as Link };
}

/** What the Temporal UI shows of a conversation. */
async function detailsOf(conversationId: string): Promise<string> {
  const connection = await Connection.connect({ address: process.env['TEMPORAL_ADDRESS'] ?? '' });
  try {
    const { workflow } = new TemporalClient({ connection });
    const { currentDetails } = await workflow.getHandle(conversationId).query<{ currentDetails: string }>('__temporal_workflow_metadata');
    return currentDetails;
  } finally {
    await connection.close();
  }
}

/** A conversation whose call waits, and a link to it. */
async function waiting(agent: string): Promise<{ chat: Chat; callId: string; link: Link }> {
  const chat = await installation.longshore.start({ agent, user: 'user-1', tenant: 'north', message: 'Begin.' });
  open.push(chat);
  const { data } = await untilEvent(chat, ({ type }) => type === 'tool.approval-requested');
  const callId = textIn(data, 'callId');
  return { chat, callId, link: (await makeLink(callId)).link };
}

async function look(url: string): Promise<{ status: number; html: string; headers: Headers }> {
  const answer = await fetch(url);
  return { status: answer.status, html: await answer.text(), headers: answer.headers };
}

async function decide(url: string, fields: Record<string, string> = {}): Promise<{ status: number; html: string }> {
  const token = url.split('/').at(-1) ?? '';
  const answer = await fetch(url, { method: 'POST', body: new URLSearchParams({ token, decision: 'deny', ...fields }) });
  return { status: answer.status, html: await answer.text() };
}

async function sql(text: string, values: string[]): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: installation.environment['DATABASE_URL'] ?? '' });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text, values)).rows;
  } finally {
    await client.end();
  }
}

test('a link ends with the key that made it; one that no key made does not', async () => {
  const { chat, callId } = await waiting('allowed');
  const headers = await service.key(['approvals:resolve'], 'north');
  const { link } = await makeLink(callId, { headers });
  expect(await look(link.url)).toMatchObject({ status: 200 });
  await installation.longshore.keys.revoke(headers.authorization.split('_')[1] ?? '');
  const ended = { status: 410, html: expect.stringContaining('It was made with a key that was revoked or has expired.') as string };
  expect(await look(link.url)).toMatchObject(ended);
  expect(await decide(link.url, { decision: 'allow-once' })).toMatchObject(ended);
  const page = /Decide on \[its page\]\((\S+)\)/;
  await until(async () => page.test(await detailsOf(chat.id)), 'the link in the details');
  const shown = page.exec(await detailsOf(chat.id))?.[1] ?? '';
  expect(await look(shown)).toMatchObject({ status: 200 });
  expect(await decide(shown, { decision: 'allow-once' })).toMatchObject({ status: 200 });
  expect(await chat.reply()).toBe('Done.');
}, 60_000);

test('a person who has the link sees the call and allows it once, without a key; then the link is over, and the audit log has its maker and its use', async () => {
  const { chat, callId, link } = await waiting('allowed');
  // A chat that makes previews and a scanner open it first.
  for (let times = 0; times < 3; times += 1) expect(await look(link.url)).toMatchObject({ status: 200, html: expect.stringContaining('echo ran') }); // prettier-ignore
  expect(await decide(link.url, { decision: 'allow-once' })).toMatchObject({ status: 200, html: expect.stringContaining('The call is allowed') });
  expect(await chat.reply()).toBe('Done.');
  expect(await resultsOf(chat)).toMatchObject([{ stdout: 'ran\n' }]);
  expect(await decide(link.url)).toMatchObject({ status: 410, html: expect.stringContaining('It was used already.') });
  expect(await look(link.url)).toMatchObject({ status: 410, html: expect.stringContaining('It was used already.') });
  const { entries } = await installation.longshore.audit.list({ target: callId });
  expect(entries.map(({ action, actor }: AuditEntry) => [action, actor])).toEqual([
    ['approval.resolved', { kind: 'conversation', id: chat.id }],
    ['approval.answer', { kind: 'link', id: link.linkId }],
    ['link.use', { kind: 'link', id: link.linkId }],
    ['link.create', { kind: 'key', id: expect.any(String) as string }],
    // The one in the details for Temporal's UI.
    ['link.create', { kind: 'conversation', id: chat.id }],
  ]);
  expect(new Set(entries.map(({ tenantId }) => tenantId))).toEqual(new Set(['north']));
  expect(entries[0]?.details).toMatchObject({ by: `link ${link.linkId}` });
}, 60_000);

test('the Temporal UI has a link to the conversation and one to the approval, which works once without a key and is nowhere else', async () => {
  const { chat, callId } = await waiting('hostile');
  let details = '';
  await until(async () => {
    details = await detailsOf(chat.id);
    return details.includes('/approve/');
  }, 'the link in the details');
  expect(details).toContain(`In the HTTP API, with a key: [\`${chat.id}\`](${service.url}/v1/conversations/${chat.id})`);
  const url = /Decide on \[its page\]\((\S+)\), without a key, once, until \d{4}-/.exec(details)?.[1] ?? '';
  const secret = url.split('_').at(-1) ?? 'none';
  expect(JSON.stringify([await chat.status(), await installation.longshore.audit.list({ target: callId })])).not.toContain(secret);
  const made = (await installation.longshore.audit.list({ target: callId, action: 'link.create' })).entries;
  expect(made.map(({ actor, tenantId }) => [actor, tenantId])).toContainEqual([{ kind: 'conversation', id: chat.id }, 'north']);
  expect(await look(url)).toMatchObject({ status: 200, html: expect.stringContaining('The agent <b>hostile</b>') });
  expect(await decide(url)).toMatchObject({ status: 200, html: expect.stringContaining('The call is denied') });
  expect(await chat.reply()).toBe('I see.');
  expect(await look(url)).toMatchObject({ status: 410 });
  const [used] = (await installation.longshore.audit.list({ target: callId, action: 'link.use' })).entries;
  expect(used?.actor).toEqual({ kind: 'link', id: url.split('_').at(-2) });
  expect(await detailsOf(chat.id)).not.toContain('/approve/');
}, 60_000);

test('of many answers at once, one is taken', async () => {
  const { chat, link } = await waiting('hostile');
  const answers = await Promise.all(Array.from({ length: 8 }, () => decide(link.url)));
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, ...Array.from({ length: 7 }, () => 410)]);
  expect(await chat.reply()).toBe('I see.');
}, 60_000);

test('the page loads and runs nothing, whatever the agent wrote, and tells no other site its address', async () => {
  const { link } = await waiting('hostile');
  const { html, headers } = await look(link.url);
  expect(html).toContain('&#60;/pre&#62;&#60;script&#62;alert(1)&#60;/script&#62;&#60;img src=x onerror=\\&#34;x\\&#34;&#62;&#39;\\u202egnp');
  expect(html).not.toMatch(/<script|<img|https?:|\u202E/);
  expect(headers.get('content-security-policy')).toMatch(
    /^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/=]{44}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
  );
  expect(['referrer-policy', 'x-frame-options', 'cache-control', 'x-content-type-options'].map((name) => headers.get(name))).toEqual(['no-referrer', 'DENY', 'no-store', 'nosniff']); // prettier-ignore
}, 60_000);

test('a link that was changed, has expired or is of another call opens nothing, and neither does a form without its token', async () => {
  const [one, two] = [await waiting('hostile'), await waiting('hostile')];
  const token = one.link.url.split('/').at(-1) ?? '';
  const otherToken = two.link.url.split('/').at(-1) ?? '';
  const at = (given: string) => `${service.url}/approve/${given}`;
  const last = token.endsWith('a') ? 'b' : 'a';
  const crossed = `${token.slice(0, 16)}${otherToken.slice(16)}`;
  for (const given of ['x', token.slice(0, -1), token.slice(0, -1) + last, crossed, token.replace('lsl', 'lsk'), `${token}a`]) {
    expect(await look(at(given))).toMatchObject({ status: 410, html: expect.stringContaining('It is not valid.') });
    expect(await decide(at(given))).toMatchObject({ status: 410, html: expect.stringContaining('It is not valid.') });
  }
  expect(await decide(one.link.url, { token: '' })).toMatchObject({ status: 410 });
  expect(await decide(one.link.url, { token: otherToken })).toMatchObject({ status: 410 });
  for (const decision of ['allow', 'yes', '']) expect(await decide(one.link.url, { decision })).toMatchObject({ status: 400, html: expect.stringContaining('Go back') }); // prettier-ignore
  const wrongBody = await fetch(one.link.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' });
  expect([wrongBody.status, wrongBody.headers.get('content-type')]).toEqual([400, 'text/html; charset=utf-8']);
  expect((await fetch(one.link.url, { method: 'POST', body: new URLSearchParams({ token: 'x'.repeat(5_000) }) })).status).toBe(413);
  await sql("update approval_links set expires_at = now() - interval '1 second' where link_id = $1", [one.link.linkId]);
  expect(await look(one.link.url)).toMatchObject({ status: 410, html: expect.stringContaining('It has expired.') });
  expect(await decide(one.link.url)).toMatchObject({ status: 410, html: expect.stringContaining('It has expired.') });
  expect((await one.chat.status()).pendingApprovals).toHaveLength(1);
  // The link is no key.
  expect((await fetch(`${service.url}/v1/approvals`, { headers: { authorization: `Bearer ${otherToken}` } })).status).toBe(401);
  expect(JSON.stringify(await sql('select * from approval_links', []))).not.toContain(otherToken.slice(17, 40));
}, 60_000);

test('a call that was answered or changed since is not answered by an old link', async () => {
  const { chat, callId, link } = await waiting('hostile');
  const { hash } = (await installation.store.toolCalls.get(callId))!;
  await sql('update tool_calls set hash = $2 where call_id = $1', [callId, 'another']);
  expect(await decide(link.url)).toMatchObject({ status: 410, html: expect.stringContaining('changed since') });
  await sql('update tool_calls set hash = $2 where call_id = $1', [callId, hash]);
  await chat.approve({ callId, answer: 'deny' });
  await chat.reply();
  expect(await look(link.url)).toMatchObject({ status: 410, html: expect.stringContaining('waits no more') });
  expect((await makeLink(callId)).status).toBe(404);
}, 60_000);

test('what the page cannot show whole can be denied there, and not allowed', async () => {
  const { link } = await waiting('long');
  const { html } = await look(link.url);
  expect([html.includes('too long for this page'), html.includes('value="allow-once"'), html.length < 5_000]).toEqual([true, false, true]);
  expect(await decide(link.url, { decision: 'allow-once' })).toMatchObject({ status: 410 });
  expect(await decide(link.url)).toMatchObject({ status: 200, html: expect.stringContaining('The call is denied') });
}, 60_000);

test('a key makes links to the calls of its tenant only, for a bounded time, at the public address', async () => {
  const { callId } = await waiting('hostile');
  const key = async (scopes: ('approvals:resolve' | 'conversations:write')[], tenant: string) => ({ headers: await service.key(scopes, tenant) });
  expect((await makeLink(callId, await key(['approvals:resolve'], 'south'))).status).toBe(404);
  expect((await makeLink(callId, await key(['conversations:write'], 'north'))).status).toBe(403);
  for (const expiresIn of ['8d', '1s', 'soon', -1, 0]) expect((await makeLink(callId, { body: { expiresIn } })).status).toBe(400);
  const { link } = await makeLink(callId, { body: { expiresIn: '2h' }, at: other });
  expect(link.url).toMatch(/^https:\/\/longshore\.example\/base\/approve\/lsl_[0-9A-Za-z]{12}_[0-9A-Za-z]{38}$/);
  expect(Math.abs(Date.parse(link.expiresAt) - Date.now() - 7_200_000)).toBeLessThan(60_000);
  // Any process of the service takes it.
  expect((await look(`${service.url}/approve/${link.url.split('/').at(-1)}`)).status).toBe(200);
}, 60_000);

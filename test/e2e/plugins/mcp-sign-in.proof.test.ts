import { randomBytes } from 'node:crypto';
import { Client as TemporalClient, Connection } from '@temporalio/client';
import type { Payload } from '@temporalio/common';
import { Client } from 'pg';
import type { Chat } from '../../../src/client.ts';
import { createPayloadCodec } from '../../../src/client/temporal/payload-codec.ts';
import { readEncryptionKeys } from '../../../src/platform/encryption-keys.ts';
import type { JsonObject } from '../../../src/contracts/json.ts';
import { startApi, type TestApi } from '../../api/support.ts';
import { startAuthorizationServer, type AuthorizationServer } from '../../oauth/authorization-server.ts';
import { serveProtected, type ProtectedFixture } from '../../oauth/protected-server.ts';
import { installAgents, resultsOf, textIn, until, untilEvent, type Installation, type WorkerProcess } from '../support.ts';

const before = process.env['LONGSHORE_ENCRYPTION_KEYS'];

let authorization: AuthorizationServer;
let server: ProtectedFixture;
let installation: Installation;
let service: TestApi;
let worker: WorkerProcess;
beforeAll(async () => {
  process.env['LONGSHORE_ENCRYPTION_KEYS'] = `key:${randomBytes(32).toString('base64')}`;
  authorization = await startAuthorizationServer();
  server = await serveProtected(authorization);
  const mcp = { desk: { url: server.url, oauth: 'user' } };
  installation = await installAgents({
    newcomer: { mcp, tools: ['desk:*'], steps: [{ call: 'desk:sign_in' }, { call: 'desk:file' }, { say: 'Filed.' }] },
    clerk: { mcp, tools: ['desk:*'], steps: [{ call: 'desk:file' }, { say: 'Filed.' }] },
    refused: { mcp, tools: ['desk:*'], steps: [{ call: 'desk:sign_in', expect: { isError: true } }, { say: 'Then not.' }] },
  });
  service = await startApi(installation);
  installation.environment['LONGSHORE_PUBLIC_URL'] = service.url;
  worker = installation.startWorker();
  await worker.ready;
}, 180_000);
afterAll(async () => {
  if (before === undefined) delete process.env['LONGSHORE_ENCRYPTION_KEYS'];
  else process.env['LONGSHORE_ENCRYPTION_KEYS'] = before;
  await service[Symbol.asyncDispose]();
  await installation[Symbol.asyncDispose]();
  await Promise.all([server, authorization].map((each) => each[Symbol.asyncDispose]()));
}, 180_000);

const chats: Chat[] = [];

async function start(agent: string, more: { user?: string; tenant?: string; unattended?: boolean } = {}): Promise<Chat> {
  const chat = await installation.longshore.start({ agent, user: 'user-1', message: 'Begin.', ...more });
  chats.push(chat);
  return chat;
}

/** All that the history of a conversation has, decrypted. */
async function historyOf(conversationId: string): Promise<string> {
  const connection = await Connection.connect({ address: process.env['TEMPORAL_ADDRESS'] ?? '' });
  try {
    const history = await new TemporalClient({ connection }).workflow.getHandle(conversationId).fetchHistory();
    const decoded = await createPayloadCodec(readEncryptionKeys(process.env['LONGSHORE_ENCRYPTION_KEYS'])).decode(payloadsIn(history));
    return decoded.map(({ data }) => Buffer.from(data ?? []).toString()).join('\n');
  } finally {
    await connection.close();
  }
}

function payloadsIn(value: unknown): Payload[] {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return [];
  if ('metadata' in value && 'data' in value && value.data instanceof Uint8Array) return [value as Payload];
  return Object.values(value).flatMap(payloadsIn);
}

/** The page that the user is asked to open. */
async function untilAsked(chat: Chat): Promise<{ url: string; callId: string; data: JsonObject }> {
  const { data } = await untilEvent(chat, ({ type }) => type === 'tool.approval-requested');
  return { url: textIn(data['arguments'] as JsonObject, 'url'), callId: textIn(data, 'callId'), data };
}

interface Page {
  status: number;
  html: string;
}

async function look(url: string, cookie = ''): Promise<Page> {
  const answer = await fetch(url, { headers: { cookie } });
  return { status: answer.status, html: await answer.text() };
}

/** Opens the link as a browser does, up to the address at which the authorization server sends it back. */
async function goThere(url: string): Promise<{ back: string; cookie: string }> {
  const { html } = await look(url);
  const link = /<a href="([^"]+)"/.exec(html)?.[1] ?? '';
  const sent = await fetch(new URL(link, url), { redirect: 'manual' });
  expect(sent.status).toBe(303);
  const cookie = sent.headers.getSetCookie()[0] ?? '';
  expect(cookie).toMatch(/^longshore_sign_in=[A-Za-z0-9_-]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/);
  const returned = await fetch(sent.headers.get('location') ?? '', { redirect: 'manual' });
  return { back: returned.headers.get('location') ?? '', cookie: cookie.split(';')[0] ?? '' };
}

async function signIn(url: string): Promise<Page> {
  const { back, cookie } = await goThere(url);
  return look(back, cookie);
}

const signedOut = () => {
  authorization.expire();
  authorization.forget();
};

test('a user is asked through the inbox, signs in at the authorization server, and the call goes on by itself; later calls need nobody', async () => {
  const chat = await start('newcomer');
  const { url, data } = await untilAsked(chat);
  expect(data).toMatchObject({
    tool: 'desk:elicitation/create',
    why: 'The MCP server desk wants the user to sign in. Longshore asks this; the user opens the page, and the call goes on by itself after that.',
    arguments: {
      server: 'desk',
      signIn: true,
      message: `Sign in at ${new URL(authorization.url).host} to let the agent use desk for you. A call waits for it.`,
    },
  });
  expect(url).toMatch(new RegExp(`^${service.url}/oauth/sign-in/[A-Za-z0-9_-]{43}$`));
  const page = await look(url);
  for (const shown of ['newcomer', 'user-1', server.url, new URL(authorization.url).host]) expect(page.html).toContain(shown);
  expect(await signIn(url)).toMatchObject({ status: 200, html: expect.stringContaining('You are signed in') });
  expect(await chat.reply()).toBe('Filed.');
  expect((await resultsOf(chat)).map(({ text }) => text)).toEqual(['The user is signed in at desk. Its tools, from now on: file.', 'filed for ada']);
  const answered = await untilEvent(chat, ({ type }) => type === 'tool.approval-resolved');
  expect(answered.data).toMatchObject({ answer: 'allow-once', by: expect.stringMatching(/^sign-in [0-9a-f]{24}$/) });
  expect(server.filed).toEqual(['ada']);

  authorization.expire();
  const again = await start('clerk');
  expect(await again.reply()).toBe('Filed.');
  expect(server.filed).toEqual(['ada', 'ada']);
  const { entries } = await installation.longshore.audit.list({ action: 'user.sign-in' });
  expect(entries).toMatchObject([{ actor: { kind: 'link' }, target: 'desk', tenantId: 'default', details: {} }]);
  for (const one of [chat, again]) await one.close();
}, 120_000);

test.each(['killed', 'stopped'] as const)(
  'a call that waits for a sign-in goes on, once, when its worker was %s meanwhile, though it could not be made twice',
  async (how) => {
    server.filed.length = 0;
    signedOut();
    const chat = await start('clerk');
    const { url } = await untilAsked(chat);
    if (how === 'killed') await worker.kill();
    else await worker.stop();
    worker = installation.startWorker();
    await worker.ready;
    expect((await signIn(url)).status).toBe(200);
    expect(await chat.reply()).toBe('Filed.');
    expect((await resultsOf(chat)).map(({ text }) => text)).toEqual(['filed for ada']);
    expect(server.filed).toEqual(['ada']);
    expect((await installation.store.events.read(chat.id, 0)).filter(({ type }) => type === 'tool.approval-requested')).toHaveLength(1);
    await chat.close();
  },
  120_000,
);

test('a user of the same name of another tenant is not signed in, and uses no token of the other', async () => {
  const chat = await start('newcomer', { tenant: 'south' });
  const { url } = await untilAsked(chat);
  authorization.user = 'sue';
  server.filed.length = 0;
  expect((await signIn(url)).status).toBe(200);
  expect(await chat.reply()).toBe('Filed.');
  expect(server.filed).toEqual(['sue']);
  authorization.user = 'ada';
  await chat.close();
}, 120_000);

test('a way back that is not of this browser, is used, or was refused signs nobody in; the page says so', async () => {
  const chat = await start('refused', { user: 'user-2' });
  const { url, callId } = await untilAsked(chat);
  const { back, cookie } = await goThere(url);
  expect(await look(back, 'longshore_sign_in=another')).toMatchObject({ status: 410, html: expect.stringContaining('This link does not work any more') });
  expect(await look(back, cookie)).toMatchObject({ status: 410 });
  expect(await look(`${service.url}/oauth/callback`)).toMatchObject({ status: 410 });
  authorization.answer = { code: '', error: 'access_denied' };
  expect(await signIn(url)).toMatchObject({ status: 502, html: expect.stringContaining('it was declined there') });
  authorization.answer = {};
  expect(await look(`${url}x`)).toMatchObject({ status: 410 });
  await chat.approve({ callId, answer: 'deny' });
  expect(await chat.reply()).toBe('Then not.');
  expect((await resultsOf(chat))[0]?.['text']).toContain('the user has declined');
  await chat.close();
}, 120_000);

test('nobody is asked in an unattended conversation, which has no tool for that', async () => {
  const chat = await start('refused', { user: 'user-3', unattended: true });
  await until(async () => (await chat.status()).state === 'idle', 'the turn has ended');
  expect((await chat.status()).pendingApprovals).toEqual([]);
  await chat.close();
}, 120_000);

test('no table has a token, a code or a verifier that is not encrypted', async () => {
  const client = new Client({ connectionString: installation.environment['DATABASE_URL']! });
  await client.connect();
  const { rows } = await client.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')`,
  );
  expect(authorization.secrets.length).toBeGreaterThan(8);
  for (const { name } of rows) {
    const text = JSON.stringify((await client.query(`select * from ${name}`)).rows);
    for (const secret of authorization.secrets) expect([name, text.includes(secret)]).toEqual([name, false]);
  }
  await client.end();
});

test('no workflow has one, encrypted or not', async () => {
  const histories = await Promise.all(chats.map(({ id }) => historyOf(id)));
  expect(histories[0]).toContain('to let the agent use desk for you');
  for (const secret of authorization.secrets) expect(histories.some((text) => text.includes(secret))).toBe(false);
});

test('the document that describes Longshore to authorization servers', async () => {
  const answer = await fetch(`${service.url}/oauth/client.json`);
  expect(answer.headers.get('content-type')).toContain('application/json');
  expect(await answer.json()).toEqual({
    client_name: 'Longshore',
    redirect_uris: [`${service.url}/oauth/callback`],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    application_type: 'native',
    token_endpoint_auth_method: 'none',
  });
});

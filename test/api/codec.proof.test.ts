import { randomBytes } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { install, type Installation } from '../e2e/support.ts';
import { startApi, type TestApi } from './support.ts';

/** What Temporal's UI asks for, with payloads of a real history. */
const UI = 'https://temporal.example.org';
const KEYS = `k1:${randomBytes(32).toString('base64')}`;
const CANARY = 'lighthouse keeper';

let installation: Installation;
let service: TestApi;
let payloads: object[];
const before = process.env['LONGSHORE_ENCRYPTION_KEYS'];

beforeAll(async () => {
  process.env['LONGSHORE_ENCRYPTION_KEYS'] = KEYS;
  installation = await install([{ call: 'shell:run', with: { command: `echo ${CANARY}` } }, { say: 'Ahoy.' }]);
  service = await startApi(installation, {}, { codecOrigins: [UI] });
  await installation.startWorker().ready;
  const chat = await installation.longshore.start({ agent: 'scripted', user: 'user-1', message: 'Ahoy.' });
  await chat.reply();
  payloads = await payloadsOf(chat.id);
  await chat.close();
}, 180_000);
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await installation[Symbol.asyncDispose]();
  if (before === undefined) delete process.env['LONGSHORE_ENCRYPTION_KEYS'];
  else process.env['LONGSHORE_ENCRYPTION_KEYS'] = before;
}, 180_000);

/** All payloads of the conversation's history, in the JSON that the UI gets from its server. */
async function payloadsOf(workflowId: string): Promise<object[]> {
  const connection = await Connection.connect({ address: process.env['TEMPORAL_ADDRESS'] ?? '' });
  try {
    const history = await new Client({ connection }).workflow.getHandle(workflowId).fetchHistory();
    return payloadsIn(JSON.parse(historyToJSON(history)));
  } finally {
    await connection.close();
  }
}

function payloadsIn(value: unknown): object[] {
  if (typeof value !== 'object' || value === null) return [];
  return isEncrypted(value) ? [value] : Object.values(value).flatMap(payloadsIn);
}

function isEncrypted(value: object): boolean {
  const { metadata } = value as { metadata?: { encoding?: string } };
  return metadata?.encoding === Buffer.from('binary/encrypted').toString('base64');
}

async function ask(path: string, headers: Record<string, string>, body: object = { payloads }) {
  const answer = await fetch(`${service.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-namespace': 'default', origin: UI, ...headers },
    body: JSON.stringify(body),
  });
  return {
    status: answer.status,
    headers: answer.headers,
    body: (await answer.json()) as { payloads: { metadata: Record<string, string>; data?: string }[]; code?: string },
  };
}

const textsOf = (given: { data?: string }[]) => given.map(({ data = '' }) => Buffer.from(data, 'base64').toString());

test('payloads of a real history are decrypted, and what is encrypted again is decrypted to the same', async () => {
  expect(payloads.length).toBeGreaterThan(10);
  expect(JSON.stringify(payloads)).not.toContain(Buffer.from(CANARY).toString('base64').slice(4, -4));
  const key = await service.key(['codec:decode']);
  const { status, body } = await ask('/codec/decode', key);
  expect([status, body.payloads.length]).toEqual([200, payloads.length]);
  expect(textsOf(body.payloads)).toContainEqual(expect.stringContaining(CANARY));
  const sealed = await ask('/codec/encode', key, body);
  expect(sealed.body.payloads.every(isEncrypted)).toBe(true);
  expect((await ask('/codec/decode', key, sealed.body)).body).toEqual(body);
  // What is not encrypted comes back as it is.
  expect((await ask('/codec/decode', key, body)).body).toEqual(body);
});

test('no payloads are no payloads: the command line of Temporal asks without any when a query or signal has no input', async () => {
  const key = await service.key(['codec:decode']);
  for (const path of ['/codec/encode', '/codec/decode']) expect(await ask(path, key, {})).toMatchObject({ status: 200, body: { payloads: [] } });
});

test('the address of the codec may have the key, for a UI that sends no header', async () => {
  const { authorization } = await service.key(['codec:decode']);
  const key = authorization.replace('Bearer ', '');
  expect((await ask(`/codec/${key}/decode`, {})).status).toBe(200);
  expect((await ask(`/codec/${key.slice(0, -1)}/decode`, {})).body.code).toBe('UNAUTHENTICATED');
  // Other routes take no key from their address.
  expect((await ask(`/codec/${key}/conversations`, {})).body.code).toBe('ROUTE_NOT_FOUND');
});

test('only keys of operators with the scope decrypt: the UI shows all tenants', async () => {
  const asked = async (...key: Parameters<TestApi['key']>) => (await ask('/codec/decode', await service.key(...key))).body.code;
  expect(await asked(['conversations:read', 'conversations:write', 'approvals:resolve'])).toBe('SCOPE_MISSING');
  expect(await asked(['codec:decode'], 'north')).toBe('OPERATOR_REQUIRED');
  expect(await asked(['admin'], 'north')).toBe('OPERATOR_REQUIRED');
  expect(await asked(['admin'])).toBeUndefined();
});

test('pages of the UI may read the answers, refusals included; other pages may not', async () => {
  const preflight = async (origin: string) => {
    const headers = { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization,content-type,x-namespace' };
    const answer = await fetch(`${service.url}/codec/decode`, { method: 'OPTIONS', headers });
    return [answer.status, ...['allow-origin', 'allow-methods', 'allow-headers'].map((name) => answer.headers.get(`access-control-${name}`))];
  };
  expect(await preflight(UI)).toEqual([204, UI, 'POST', 'authorization, content-type, x-namespace']);
  expect(await preflight('https://elsewhere.example.org')).toEqual([204, null, null, null]);
  const refused = await ask('/codec/decode', {});
  expect([refused.status, refused.headers.get('access-control-allow-origin'), refused.headers.get('vary')]).toEqual([401, UI, 'origin']);
  const elsewhere = await ask('/codec/decode', { ...(await service.key(['codec:decode'])), origin: 'https://elsewhere.example.org' });
  expect(elsewhere.headers.get('access-control-allow-origin')).toBeNull();
});

test('a payload that cannot be decrypted is refused with the id of its key, and so is what is no payload or too much', async () => {
  const key = await service.key(['codec:decode']);
  const [sealed] = payloads as { metadata: Record<string, string> }[];
  const foreign = { ...sealed, metadata: { ...sealed!.metadata, 'encryption-key-id': Buffer.from('k0').toString('base64') } };
  const { status, body } = await ask('/codec/decode', key, { payloads: [foreign] });
  expect([status, body]).toEqual([503, expect.objectContaining({ code: 'ENCRYPTION_KEY_UNKNOWN', values: { keyId: 'k0', known: 'k1' } })]);
  expect((await ask('/codec/decode', key, { payloads: [{ ...sealed, data: '!' }] })).body.code).toBe('PAYLOAD_UNREADABLE');
  expect((await ask('/codec/decode', key, { payloads: [{ data: 1 }] })).body.code).toBe('INVALID_ARGUMENT');
  expect((await ask('/codec/decode', key, { payloads: null })).body.code).toBe('INVALID_ARGUMENT');
  const much = await ask('/codec/decode', key, { payloads: [{ data: 'x'.repeat(8_000_000) }] });
  expect([much.status, much.body]).toEqual([413, expect.objectContaining({ code: 'BODY_TOO_LARGE', values: { limit: 8_000_000 } })]);
});

import { connect, type Longshore } from '../../../src/client.ts';
import { failure } from '../../../src/contracts/errors.ts';
import { startProvider } from '../../models/provider-server.ts';
import { ODD_VALUES, start, wrongAnswers } from '../odd-calls.ts';
import { answering } from './answering.ts';

/** A service without conversations. */
function emptyService() {
  const { code, values } = failure('CONVERSATION_NOT_FOUND', { conversationId: 'conv_none' });
  return answering([], (response) => void response.writeHead(404).end(JSON.stringify({ code, values })));
}

test.each(ODD_VALUES)('%s is an argument, and a field, that the client over HTTP sends or refuses with an error of the table', async (_, make) => {
  await using client = await emptyService();
  expect(await wrongAnswers(client.longshore, make)).toEqual([]);
});

const schedule = { id: 's', agent: 'a', user: 'u', every: '1h' };
test.each<[string, string, (longshore: Longshore) => Promise<unknown>]>([
  ['a function as an id', 'INVALID_ARGUMENT', (longshore) => longshore.start({ ...start, conversationId: (() => 1) as never })],
  ['a symbol as an id of a fork', 'INVALID_ARGUMENT', (longshore) => longshore.fork('conv_1', { conversationId: Symbol('s') as never })],
  ['an id that none can have', 'INVALID_ARGUMENT', (longshore) => longshore.start({ ...start, conversationId: 'a b' })],
  ['a function as a message of a schedule', 'MESSAGE_INVALID', (longshore) => longshore.schedules.create({ ...schedule, message: (() => 1) as never })],
  ['no message of a schedule', 'MESSAGE_INVALID', (longshore) => longshore.schedules.create({ ...schedule } as never)],
  ['a long message of a schedule', 'MESSAGE_INVALID', (longshore) => longshore.schedules.create({ ...schedule, message: 'x'.repeat(150_000) })],
  ['a date that is none', 'INVALID_ARGUMENT', (longshore) => longshore.schedules.create({ id: 's', agent: 'a', user: 'u', message: 'Hi', at: new Date(NaN) })],
  ['a number as the tenant of webhooks', 'INVALID_ARGUMENT', (longshore) => longshore.webhooks.list(5 as never)],
  ['a number as the tenant of keys', 'INVALID_ARGUMENT', (longshore) => longshore.keys.list(5 as never)],
])('%s is refused with %s before anything is sent, as by the client without HTTP', async (_, code, call) => {
  await using client = await emptyService();
  await expect(call(client.longshore)).rejects.toMatchObject({ code });
  expect(client.service.requests).toEqual([]);
});

test.each([
  ['apiKey', { url: 'http://127.0.0.1:9', apiKey: 'lsk_canary\n' }],
  ['apiKey', { url: 'http://127.0.0.1:9', apiKey: 'lsk_canäry' }],
  ['databaseUrl', { databaseUrl: 'postgres://app:canary@db/app\n' }],
])('a message about the %s does not show it', async (name, options) => {
  const error = await connect(options).catch((refused: unknown) => refused);
  expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringContaining(`options of connect.${name}: it `) as unknown });
  expect(String(error)).not.toMatch(/can[aä]ry/);
});

test('an audit log is read in as many pages as its limit needs, which may be more than that of the service', async () => {
  const of = (count: number, next?: string) => ({ entries: Array.from({ length: count }, () => ({ auditId: '1' })), ...(next !== undefined && { next }) });
  const pages = [of(200, 'a'), of(100, 'b')];
  await using service = await startProvider((response) => void response.end(JSON.stringify(pages.shift())));
  await using longshore = await connect({ url: service.url, apiKey: 'lsk_test' });
  expect(await longshore.audit.list({ limit: 300 })).toMatchObject({ entries: { length: 300 }, next: 'b' });
  expect(service.requests.map(({ path }) => path)).toEqual(['/v1/audit?limit=200', '/v1/audit?cursor=a&limit=100']);
});

test('usage up to now is up to the time of the service, and all pages have its period', async () => {
  const period = { from: '2030-01-01T00:00:00.000Z', to: '2030-01-31T00:00:00.000Z' };
  const pages = [
    { ...period, lines: [{}], next: 'a' },
    { ...period, lines: [{}] },
  ];
  await using service = await startProvider((response) => void response.end(JSON.stringify(pages.shift())));
  await using longshore = await connect({ url: service.url, apiKey: 'lsk_test' });
  expect(await longshore.usage({ group: 'user' })).toEqual({ ...period, lines: [{}, {}], more: false });
  expect(service.requests.map(({ path }) => path)).toEqual([
    '/v1/usage?group=user&limit=100',
    `/v1/usage?${new URLSearchParams({ group: 'user', from: period.from, to: period.to, cursor: 'a', limit: '99' }).toString()}`,
  ]);
});

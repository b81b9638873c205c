import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ServerResponse } from 'node:http';
import { Client } from 'pg';
import { connect, type Chat, type Longshore } from '../../src/client.ts';
import { startApi, type TestApi } from '../api/support.ts';
import type { JsonObject } from '../../src/contracts/json.ts';
import { runLine } from '../cli/support.ts';
import { sendEvents, startProvider } from '../models/provider-server.ts';
import { waitingForLocks } from '../sandbox/lifecycle/support.ts';
import { installAgents, until, untilEvent, type Installation, type WorkerProcess } from './support.ts';

/** What models used and cost, from the provider's answer to every place that shows it. */
let installation: Installation;
let service: TestApi;
let worker: WorkerProcess;
let provider: Awaited<ReturnType<typeof startProvider>>;
/** What happens between the provider's answer and its way to the worker. */
let beforeAnswer: () => Promise<void> = async () => undefined;

/** Of each answer: 600 tokens of fresh input, 400 from the cache, 50 of output. */
const USED = { prompt_tokens: 1000, completion_tokens: 50, total_tokens: 1050, prompt_tokens_details: { cached_tokens: 400 } };
const PRICES = 'prices:\n  - { model: openai-compatible/priced, input: 10, output: 100, cacheRead: 1 }\n';
const COST = (600 * 10 + 400 * 1 + 50 * 100) / 1_000_000;

beforeAll(async () => {
  provider = await startProvider((response, { body }) => void answer(response, body['model'] !== 'silent'));
  const paid = { model: 'openai-compatible/priced', modelOptions: { baseUrl: provider.url }, steps: [] };
  installation = await installAgents({
    paid,
    walled: { ...paid, budget: { costUsd: 0.02 } },
    unpriced: { ...paid, model: 'openai-compatible/unpriced' },
    unwallable: { ...paid, model: 'openai-compatible/unpriced', budget: { costUsd: 1 } },
    silent: { ...paid, model: 'openai-compatible/silent' },
  });
  const file = join(installation.environment['LONGSHORE_AGENTS'] ?? '', 'scripts', 'prices.yaml');
  await writeFile(file, PRICES);
  installation.environment['LONGSHORE_PRICES'] = file;
  worker = installation.startWorker();
  await worker.ready;
  service = await startApi(installation);
}, 180_000);
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await installation[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
}, 180_000);

async function answer(response: ServerResponse, tells: boolean): Promise<void> {
  await beforeAnswer();
  const base = { id: 'chat-1', object: 'chat.completion.chunk', created: 1, model: 'm' };
  const choice = (delta: JsonObject, finish: string | null) => ({ ...base, choices: [{ index: 0, delta, finish_reason: finish }] });
  sendEvents(response, [choice({ content: 'Here.' }, null), choice({}, 'stop'), ...(tells ? [{ ...base, choices: [], usage: USED }] : []), '[DONE]']);
}

const start = (agent: string, tenant = 'default') => installation.longshore.start({ agent, user: 'user-1', tenant, message: 'Hi' });

test('a step is priced with what the cache gave, in its event, the status and the outcome of a run', async () => {
  const chat = await start('paid');
  expect(await chat.reply()).toBe('Here.');
  const { data } = await untilEvent(chat, ({ type }) => type === 'step.finished');
  expect(data['usage']).toEqual({ inputTokens: 1000, outputTokens: 50, cacheReadTokens: 400, costUsd: COST });
  const { usage } = await chat.status();
  expect(usage).toEqual({ calls: 1, inputTokens: 1000, outputTokens: 50, cacheReadTokens: 400, cacheWriteTokens: 0, costUsd: COST, knownCostUsd: COST, unpricedCalls: 0 }); // prettier-ignore
  expect((await runLine(installation.longshore, ['show', chat.id])).out).toContain('1050 tokens (cost $0.0114)');
  const ran = await runLine(installation.longshore, ['run', 'paid', '--message', 'Hi', '--wait', '--close', '--json']);
  expect(JSON.parse(ran.out.trim().split('\n').at(-1) ?? '')).toMatchObject({ outcome: 'finished', usage: { costUsd: COST, cacheReadTokens: 400 } });
  await chat.close();
});

test('budget.costUsd ends like the other budgets, and resuming with a grant goes on', async () => {
  const chat = await start('walled');
  await chat.reply();
  await chat.send('Again');
  expect(await chat.reply()).toBe('Here.');
  await chat.send('And again');
  const { data } = await untilEvent(chat, ({ type }) => type === 'budget.exhausted');
  expect(data).toEqual({ exhausted: 'cost', limit: 0.02 });
  await until(async () => (await chat.status()).state === 'paused', 'the status says that it is paused');
  expect((await chat.status()).paused).toEqual({ by: 'budget', exhausted: 'cost', limit: 0.02 });
  expect((await chat.status()).usage).toMatchObject({ calls: 2, costUsd: 0.0228 });
  expect((await runLine(installation.longshore, ['resume', chat.id, '--extra-cost', '0.01'])).code).toBe(0);
  expect(await chat.reply()).toBe('Here.');
  await chat.close();
});

test('a model without a price is used with an unknown cost, and not at all under a budget of cost', async () => {
  const chat = await start('unpriced');
  await chat.reply();
  expect((await chat.status()).usage).toMatchObject({ calls: 1, inputTokens: 1000, costUsd: null, knownCostUsd: 0, unpricedCalls: 1 });
  expect((await runLine(installation.longshore, ['show', chat.id])).out).toContain('1050 tokens (cost not known)');
  await chat.close();
  const asked = provider.requests.length;
  const refused = await start('unwallable');
  await expect(refused.reply()).rejects.toMatchObject({
    message: expect.stringContaining(
      'The price of "openai-compatible/unpriced" is not known, and agent "unwallable" has budget.costUsd. Name the model in the file of LONGSHORE_PRICES',
    ) as string,
  });
  expect(provider.requests).toHaveLength(asked);
  expect(await refused.status()).not.toHaveProperty('usage');
  await refused.close();
});

test('an answer whose tokens the provider does not tell has an unknown cost', async () => {
  const chat = await start('silent');
  await chat.reply();
  expect((await chat.status()).usage).toMatchObject({ calls: 1, inputTokens: 0, costUsd: null, unpricedCalls: 1 });
  await chat.close();
});

describe.each(['in the process', 'over HTTP'])('a client %s', (transport) => {
  let longshore: Longshore;
  let chat: Chat;
  const tenant = `of-${transport.replaceAll(' ', '-')}`;
  beforeAll(async () => {
    if (transport === 'in the process') longshore = installation.longshore;
    else longshore = await connect({ url: service.url, apiKey: (await service.key(['admin'])).authorization.slice('Bearer '.length) });
    chat = await start('paid', tenant);
    await chat.reply();
    await chat.send('Again');
    await chat.reply();
  });
  afterAll(async () => {
    await chat.close();
    if (longshore !== installation.longshore) await longshore[Symbol.asyncDispose]();
  });

  test('reads usage and cost by group', async () => {
    const totals = { calls: 2, inputTokens: 2000, outputTokens: 100, cacheReadTokens: 800, cacheWriteTokens: 0, costUsd: 0.0228, knownCostUsd: 0.0228, unpricedCalls: 0 }; // prettier-ignore
    const report = await longshore.usage({ tenant, group: 'user' });
    expect(report).toEqual({
      from: expect.any(String) as string,
      to: expect.any(String) as string,
      group: 'user',
      lines: [{ key: 'user-1', tenantId: tenant, ...totals }],
      more: false,
      total: totals,
    });
    expect(Date.parse(report.to) - Date.parse(report.from)).toBe(30 * 86_400_000);
    expect((await longshore.usage({ conversation: chat.id, group: 'model' })).lines).toEqual([{ key: 'openai-compatible/priced', ...totals }]);
    expect((await longshore.usage({ tenant, to: '2020-01-01' })).total.calls).toBe(0);
  });

  test('a report with more lines than the limit says so, and its total is of all', async () => {
    const all = await longshore.usage({ group: 'conversation' });
    expect([all.more, all.lines.length]).toEqual([false, all.total.calls === 0 ? 0 : all.lines.length]);
    const first = await longshore.usage({ group: 'conversation', limit: 1, to: all.to, from: new Date(all.from) });
    expect(first).toMatchObject({ more: true, lines: all.lines.slice(0, 1), total: all.total });
  });

  test('a period that cannot be is refused', async () => {
    await expect(longshore.usage({ from: '2027-02-01', to: '2027-01-01' })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringContaining('2027-02-01T00:00:00.000Z is not before 2027-01-01T00:00:00.000Z') as string }); // prettier-ignore
    await expect(longshore.usage({ from: 'yesterday' })).rejects.toMatchObject({ message: 'options of usage.from: it is "yesterday". Give a Date, or a text such as 2027-01-31 or 2027-01-31T09:00:00Z' }); // prettier-ignore
    await expect(longshore.usage({ from: new Date(8.64e15) })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});

test('the key of a tenant sees the calls of its tenant, and pages of the API have no gaps', async () => {
  const read = async (query: string, headers: { authorization: string }) => (await fetch(`${service.url}/v1/usage?${query}`, { headers })).json() as Promise<{ lines: { key: string }[]; total: { calls: number }; next?: string; detail?: string }>; // prettier-ignore
  const own = await service.key(['conversations:read'], 'of-over-HTTP');
  expect(await read('group=tenant', own)).toMatchObject({ lines: [{ key: 'of-over-HTTP', calls: 2 }], total: { calls: 2 } });
  expect(await read('group=user&tenant=of-in-the-process', own)).toMatchObject({ lines: [], total: { calls: 0 } });
  const operator = await service.key(['conversations:read']);
  const keys: string[] = [];
  for (let cursor: string | undefined = ''; cursor !== undefined;) {
    const page = await read(`group=tenant&limit=1${cursor === '' ? '' : `&cursor=${cursor}`}`, operator);
    keys.push(...page.lines.map(({ key }) => key));
    cursor = page.next;
  }
  expect(keys).toEqual(['default', 'of-in-the-process', 'of-over-HTTP']);
  expect(await read('cursor=bm90', operator)).toMatchObject({ detail: 'query.cursor: it is no cursor. Give the `next` of the page before' });
});

test('the command line shows a table, with what is not known', async () => {
  const { out, code } = await runLine(installation.longshore, ['usage', '--by', 'agent', '--tenant', 'default']);
  expect(code).toBe(0);
  expect(out).toMatch(/^AGENT +CALLS +INPUT +FROM CACHE +OUTPUT +COST\npaid +2 +2000 +800 +100 +\$0\.0228\n/);
  expect(out).toMatch(/\nunpriced +1 +1000 +400 +50 +not known\n/);
  expect(out).toMatch(/\ntotal +7 +6000 +2400 +300 +\$0\.0570, not known for 2 of 7 calls\n/);
  expect(out).toContain('Models without a price: name them in the file of LONGSHORE_PRICES.');
  expect((await runLine(installation.longshore, ['usage', '--to', '2020-01-01'])).out).toBe('No model calls from 2019-12-02 00:00 to 2020-01-01 00:00.\n');
});

test('a worker that is killed between the answer of the provider and its storing: the step is asked for again and counted once', async () => {
  const databaseUrl = installation.environment['DATABASE_URL'] ?? '';
  const database = new Client({ connectionString: databaseUrl });
  await database.connect();
  const chat = await installation.longshore.start({ agent: 'paid', user: 'user-1', tenant: 'killed' });
  // The first answer reaches the worker while nothing of this conversation can be stored.
  let answered = 0;
  beforeAnswer = async () => {
    answered += 1;
    if (answered > 1) return;
    await database.query('begin');
    await database.query('select 1 from conversations where conversation_id = $1 for update', [chat.id]);
  };
  const waiting = `from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  await chat.send('Hi');
  await until(async () => answered === 1 && (await waitingForLocks({ databaseUrl })) > 0, 'a worker waits to store the answer');
  await worker.kill();
  // What waits already would be done without its worker.
  await database.query(`select pg_terminate_backend(pid, 10000) ${waiting}`);
  await database.query('rollback');
  await database.end();
  await installation.startWorker().ready;
  expect(await chat.reply()).toBe('Here.');
  expect(answered).toBe(2);
  // Two calls were paid for. Of the first one, nothing is known but that it began.
  expect((await chat.status()).usage).toMatchObject({ calls: 1, costUsd: COST });
  const events = await installation.store.events.read(chat.id, 0);
  expect(events.filter(({ type }) => type === 'step.started')).toHaveLength(2);
  expect(events.filter(({ type }) => type === 'step.finished')).toHaveLength(1);
  await chat.close();
}, 180_000);

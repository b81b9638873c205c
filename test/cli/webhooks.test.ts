import { connect, type Longshore } from '../../src/client.ts';
import { defineAgent } from '../../src/definitions/agents/define-agent.ts';
import { createTestDatabase } from '../support/databases.ts';
import { openReceiver, type Receiver } from '../webhooks/receiver.ts';
import { runLine } from './support.ts';

let longshore: Longshore;
let database: Awaited<ReturnType<typeof createTestDatabase>>;
let receiver: Receiver;
beforeAll(async () => {
  database = await createTestDatabase();
  const agents = [defineAgent({ id: 'fixer', model: 'scripted/none.yaml' })];
  longshore = await connect({ databaseUrl: database.url, lazy: true, agents });
  receiver = await openReceiver();
});
afterAll(async () => {
  await receiver[Symbol.asyncDispose]();
  await longshore[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

test('a webhook is made, listed without its secret, tried, rotated, enabled and removed', async () => {
  expect((await runLine(longshore, ['webhooks', 'ls'])).out).toBe('No webhooks. Make one with: longshore webhooks create <url>\n');
  const made = await runLine(longshore, ['webhooks', 'create', receiver.url, '--tenant', 'acme', '--type', 'turn.finished', '--agent', 'fixer']);
  const [secret = '', said = ''] = made.out.split('\n');
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  const id = said.split(' ').at(-1) ?? '';
  expect(said).toBe(`The secret is shown only now. Events of tenant acme go to ${receiver.url}. Try it with: longshore webhooks test ${id}`);
  const listed = (await runLine(longshore, ['webhooks', 'ls', '--json'])).out;
  expect(JSON.parse(listed)).toMatchObject([{ webhookId: id, tenantId: 'acme', types: ['turn.finished'], agents: ['fixer'], state: 'active', waiting: 0 }]);
  expect(listed).not.toContain(secret);
  expect((await runLine(longshore, ['webhooks', 'ls', '--tenant', 'acme'])).out).toMatch(new RegExp(`${id} +acme +${receiver.url} +active +0 +-`));
  // Nobody has allowed the address of this machine.
  const tried = await runLine(longshore, ['webhooks', 'test', id]);
  expect([tried.code, tried.out]).toEqual([1, expect.stringContaining('an operator can allow it in LONGSHORE_WEBHOOK_ADDRESSES')]);
  expect((await runLine(longshore, ['webhooks', 'rotate', id, '--overlap', '0ms'])).out).toMatch(
    /^whsec_\S+\nIt is shown only now. The old secret has ended.\n$/,
  );
  expect((await runLine(longshore, ['webhooks', 'rotate', id])).out).toMatch(/The old secret signs too until 20/);
  await longshore.webhooks.update(id, { state: 'disabled' });
  expect((await runLine(longshore, ['webhooks', 'ls'])).out).toMatch(/ disabled +0 +it was disabled by hand\n$/);
  const enabled = `${id} is active; 0 events wait. What came while it was disabled is sent by: longshore webhooks replay ${id} --since <time>\n`;
  expect((await runLine(longshore, ['webhooks', 'enable', id])).out).toBe(enabled);
  expect((await runLine(longshore, ['webhooks', 'replay', id, '--since', '2027-01-31T09:00:00Z'])).out).toBe('0 events are sent again.\n');
  // An age, as other commands take it.
  expect(await runLine(longshore, ['webhooks', 'replay', id, '--since', '24h'])).toMatchObject({ code: 0, out: '0 events are sent again.\n', err: '' });
  expect((await runLine(longshore, ['webhooks', 'attempts', id])).out).toBe('Nothing was sent yet.\n');
  expect((await runLine(longshore, ['webhooks', 'rm', id])).out).toBe(`${id} is removed.\n`);
  expect(await runLine(longshore, ['webhooks', 'rm', id])).toMatchObject({ code: 1, err: `No webhook "${id}". List them with: longshore webhooks ls\n` });
});

test('a webhook for an agent that does not exist would never get a message: it is refused', async () => {
  const { webhooks } = longshore;
  const before = await webhooks.list();
  const made = await runLine(longshore, ['webhooks', 'create', receiver.url, '--agent', 'fixer', '--agent', 'fixr']);
  expect([made.code, made.err]).toEqual([2, expect.stringContaining('No agent named "fixr". Known: fixer. ')]);
  expect(await webhooks.list()).toEqual(before);
  const { webhookId } = await webhooks.create({ url: receiver.url, agents: ['fixer'] });
  await expect(webhooks.update(webhookId, { agents: ['fixr'] })).rejects.toMatchObject({ code: 'AGENT_NOT_FOUND' });
  expect(await webhooks.update(webhookId, { agents: null, types: ['note'] })).toMatchObject({ types: ['note'] });
  await webhooks.delete(webhookId);
});

test('an agent whose file is gone may stay in the list of a webhook: its conversations go on', async () => {
  const { webhookId } = await longshore.webhooks.create({ url: receiver.url, agents: ['fixer'] });
  const agents = [defineAgent({ id: 'reviewer', model: 'scripted/none.yaml' })];
  const later = await connect({ databaseUrl: database.url, lazy: true, agents });
  try {
    expect(await later.webhooks.update(webhookId, { agents: ['fixer', 'reviewer'] })).toMatchObject({ agents: ['fixer', 'reviewer'] });
    await expect(later.webhooks.update('hook_none', { agents: ['reviewer'] })).rejects.toMatchObject({ code: 'WEBHOOK_NOT_FOUND' });
  } finally {
    await later.webhooks.delete(webhookId);
    await later[Symbol.asyncDispose]();
  }
});

test('what cannot be used says what to do', async () => {
  const url = await runLine(longshore, ['webhooks', 'create', 'a.example']);
  expect([url.code, url.err]).toEqual([2, expect.stringContaining('it is not an absolute http or https URL. Give a URL such as https://example.com/hooks')]);
  const type = await runLine(longshore, ['webhooks', 'create', 'https://a.example', '--type', 'all']);
  expect([type.code, type.err]).toEqual([2, expect.stringContaining('Use conversation.started, ')]);
  const replay = await runLine(longshore, ['webhooks', 'replay', 'hook_1', '--since', 'soon']);
  expect([replay.code, replay.err]).toEqual([2, expect.stringContaining('it is no time. Write 24h, or 2027-01-31T09:00:00Z')]);
});

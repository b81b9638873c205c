import { connect, type Longshore } from '../../src/client.ts';
import { createTestDatabase } from '../support/databases.ts';
import { openReceiver, type Receiver } from '../webhooks/receiver.ts';
import { runLine } from './support.ts';

let longshore: Longshore;
let database: Awaited<ReturnType<typeof createTestDatabase>>;
let receiver: Receiver;
beforeAll(async () => {
  database = await createTestDatabase();
  longshore = await connect({ databaseUrl: database.url, lazy: true });
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
  expect((await runLine(longshore, ['webhooks', 'attempts', id])).out).toBe('Nothing was sent yet.\n');
  expect((await runLine(longshore, ['webhooks', 'rm', id])).out).toBe(`${id} is removed.\n`);
  expect(await runLine(longshore, ['webhooks', 'rm', id])).toMatchObject({ code: 1, err: `No webhook "${id}". List them with: longshore webhooks ls\n` });
});

test('what cannot be used says what to do', async () => {
  const url = await runLine(longshore, ['webhooks', 'create', 'a.example']);
  expect([url.code, url.err]).toEqual([2, expect.stringContaining('it is not an absolute http or https URL. Give a URL such as https://example.com/hooks')]);
  const type = await runLine(longshore, ['webhooks', 'create', 'https://a.example', '--type', 'all']);
  expect([type.code, type.err]).toEqual([2, expect.stringContaining('Use conversation.started, ')]);
  const replay = await runLine(longshore, ['webhooks', 'replay', 'hook_1', '--since', 'soon']);
  expect([replay.code, replay.err]).toEqual([2, expect.stringContaining('it is no time. Write 2027-01-31T09:00:00Z')]);
});

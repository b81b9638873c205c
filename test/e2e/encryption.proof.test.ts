import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect, type Chat, type Longshore } from '../../src/client.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { makeOwnTemporal, type OwnTemporal } from '../support/own-temporal.ts';
import { installAgents, textIn, untilEvent, type Installation, type ScriptedAgent } from './support.ts';

/** Texts that are confidential, by where they are given. */
const KINDS = ['message', 'argument', 'output', 'approval', 'error', 'user', 'schedule', 'reason', 'secret'] as const;
type Canaries = Record<(typeof KINDS)[number], string>;

let server: OwnTemporal;
let installation: Installation;
const before = { ...process.env };
const plain = canaries();
const sealed = canaries();

beforeAll(async () => {
  server = await makeOwnTemporal();
  process.env['TEMPORAL_ADDRESS'] = server.address;
  installation = await installAgents({ plain: agentWith(plain), sealed: agentWith(sealed), greeter: { steps: [{ say: 'Ahoy.' }, { say: 'Later.' }] } });
}, 180_000);
afterAll(async () => {
  await installation[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  process.env = before;
}, 180_000);

function canaries(): Canaries {
  return Object.fromEntries(KINDS.map((kind) => [kind, `canary-${kind}-${randomBytes(9).toString('hex')}`])) as unknown as Canaries;
}

function agentWith({ argument, output, error, secret }: Canaries): ScriptedAgent {
  const made = Buffer.from(output).toString('hex');
  return {
    approval: [
      { tool: '*', when: { command: '* # ask' }, decide: 'ask' },
      { tool: '*', decide: 'allow' },
    ],
    sandbox: { secrets: { DEPLOY_KEY: secret } },
    steps: [
      // Quotes are twice as long in JSON: the summary of this call still has to be within Temporal's limit.
      { call: 'shell:run', with: { command: `echo "${argument}" '${'"'.repeat(200)}' "$DEPLOY_KEY" # ask` } },
      { call: 'shell:run', with: { command: `echo ${made} | xxd -r -p || python3 -c "print(bytes.fromhex('${made}').decode())"` } },
      { say: 'Done.' },
      { call: 'files:read', with: { path: `/home/user/${error}` }, expect: { isError: false } },
    ],
  };
}

async function converse(longshore: Longshore, agent: string, given: Canaries): Promise<Chat> {
  const chat = await longshore.start({ agent, user: given.user, message: given.message });
  const { data } = await untilEvent(chat, ({ type }) => type === 'tool.approval-requested');
  await chat.approve({ callId: textIn(data, 'callId'), answer: 'allow-once', by: 'ada', reason: given.approval });
  expect(await chat.reply()).toBe('Done.');
  const { turnId } = await chat.send('And the file?');
  await expect(chat.reply(turnId)).rejects.toMatchObject({ code: 'TURN_FAILED' });
  const id = `${agent}-${installation.name}`;
  await longshore.schedules.create({ id, agent, user: given.user, message: given.schedule, every: '30d' });
  await longshore.schedules.pause(id, { note: given.reason });
  return chat;
}

/** How often each text is in the files of Temporal, as it is and in base64. */
async function found(given: Canaries): Promise<Record<string, number>> {
  const files = await Promise.all(
    (await readdir(server.directory)).filter((name) => name.startsWith('temporal.sqlite')).map((name) => readFile(join(server.directory, name))),
  );
  expect(files.length).toBeGreaterThan(1);
  return Object.fromEntries(
    KINDS.map((kind) => [kind, formsOf(given[kind]).reduce((sum, form) => sum + files.reduce((count, file) => count + timesIn(file, form), 0), 0)]),
  );
}

/** The text, and what base64 makes of it at each of the three places where it may begin. */
function formsOf(text: string): string[] {
  const shifted = [0, 1, 2].map((skipped) => Buffer.from(text).subarray(skipped, skipped + Math.floor((text.length - skipped) / 3) * 3));
  return [text, ...shifted.map((bytes) => bytes.toString('base64'))];
}

function timesIn(file: Buffer, text: string): number {
  let count = 0;
  for (let at = file.indexOf(text); at !== -1; at = file.indexOf(text, at + 1)) count += 1;
  return count;
}

test('with encryption nothing confidential is in the database of Temporal, where it is without; conversations from before go on', async () => {
  const worker = installation.startWorker();
  await worker.ready;
  const first = await converse(installation.longshore, 'plain', plain);
  const old = await installation.longshore.start({ agent: 'greeter', user: 'user-1', message: 'Ahoy.' });
  expect(await old.reply()).toBe('Ahoy.');
  await worker.stop();
  const without = await found(plain);
  // The text of messages, output and secrets are in Postgres at most, also without encryption.
  for (const kind of ['argument', 'approval', 'error', 'user', 'schedule', 'reason']) expect([kind, without[kind]]).not.toEqual([kind, 0]);

  const keys = `k1:${randomBytes(32).toString('base64')}`;
  installation.environment['LONGSHORE_ENCRYPTION_KEYS'] = process.env['LONGSHORE_ENCRYPTION_KEYS'] = keys;
  await installation.startWorker().ready;
  const { DATABASE_URL: databaseUrl } = installation.environment;
  const options = { databaseUrl: databaseUrl!, taskQueue: installation.name, agents: installation.environment['LONGSHORE_AGENTS']! };
  await using longshore = await connect(options);
  const chat = await converse(longshore, 'sealed', sealed);
  expect(await found(sealed)).toEqual(Object.fromEntries(KINDS.map((kind) => [kind, 0])));
  const { note, message, user } = await longshore.schedules.get(`sealed-${installation.name}`);
  expect({ note, message, user }).toEqual({ note: sealed.reason, message: sealed.schedule, user: sealed.user });

  const same = await longshore.chat(old.id);
  const { turnId } = await same.send('Go on.');
  expect(await same.reply(turnId)).toBe('Later.');

  process.env['LONGSHORE_ENCRYPTION_KEYS'] = keys.replace('k1', 'k2');
  await using other = await connect(options);
  await expect(other.schedules.get(`sealed-${installation.name}`)).rejects.toMatchObject({
    code: 'ENCRYPTION_KEY_UNKNOWN',
    values: { keyId: 'k1', known: 'k2' },
  });
  for (const agent of ['plain', 'sealed']) await longshore.schedules.delete(`${agent}-${installation.name}`);
  const open = [first.id, same.id, chat.id];
  for (const id of open) await longshore.close(id);
  for (const id of open) await untilEvent(await longshore.chat(id), ({ type }) => type === 'conversation.closed');
  expect(await found(sealed)).toEqual(Object.fromEntries(KINDS.map((kind) => [kind, 0])));
  expect(loadConfig().TEMPORAL_ADDRESS).toBe(server.address);
});

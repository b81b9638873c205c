import { randomBytes } from 'node:crypto';
import { Client as TemporalClient, Connection } from '@temporalio/client';
import { Client } from 'pg';
import { ownSandboxIdOf } from '../../src/plugins/dialects/shared/python/own-sandboxes.ts';
import { runLine } from '../cli/support.ts';
import { runCommand } from '../../src/platform/run-command.ts';
import { createDockerSandboxes } from '../../src/sandbox/lifecycle/docker-sandboxes.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { silent } from '../store/support.ts';
import { install, until, type Installation } from './support.ts';

/** In every text of a user who is erased. */
const CANARY = `canary${randomBytes(9).toString('hex')}`;
const USER = `user-${CANARY}`;

let installation: Installation;
beforeAll(async () => {
  const noted = { call: 'memory:write', with: { path: 'team.md', content: 'Ours.' } };
  installation = await install([noted, { call: 'shell:run', with: { command: 'echo mine > /home/user/file' } }, { say: 'Done.' }], {
    sandbox: { onClose: 'keep' },
    memory: 'tenant',
  });
  await installation.startWorker().ready;
}, 180_000);
afterAll(async () => installation[Symbol.asyncDispose](), 180_000);

/** Rows that contain the text, by table: every table of the schema, every column. */
async function census(text: string): Promise<Record<string, number>> {
  const client = new Client({ connectionString: installation.environment['DATABASE_URL'] });
  await client.connect();
  try {
    const tables = await client.query<{ name: string }>(
      `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
        where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema') order by 1`,
    );
    const found: Record<string, number> = {};
    for (const { name } of tables.rows) {
      const hex = Buffer.from(text).toString('hex');
      const { rows } = await client.query<{ count: number }>(
        `select count(*)::int as count from ${name} t where t::text like '%' || $1 || '%' or t::text like '%' || $2 || '%'`,
        [text, hex],
      );
      if (rows[0]!.count > 0) found[name.replace('public.', '')] = rows[0]!.count;
    }
    return found;
  } finally {
    await client.end();
  }
}

async function things(): Promise<string[]> {
  const filter = ['--filter', `label=longshore.installation=${installation.name}`];
  const { stdout: containers } = await runCommand('docker', ['ps', '--all', '--format', '{{.Names}}', ...filter]);
  const { stdout: volumes } = await runCommand('docker', ['volume', 'ls', '--format', '{{.Name}}', ...filter]);
  return `${containers}\n${volumes}`
    .split('\n')
    .filter((name) => name !== '')
    .toSorted();
}

async function histories(user: string): Promise<string[]> {
  const connection = await Connection.connect({ address: process.env['TEMPORAL_ADDRESS'] ?? '' });
  try {
    const query = `UserId = '${user}' OR TemporalScheduledById = 'daily-${installation.name}'`;
    const found: string[] = [];
    for await (const { workflowId } of new TemporalClient({ connection }).workflow.list({ query })) found.push(workflowId);
    return found;
  } finally {
    await connection.close();
  }
}

const erase = (...words: string[]) =>
  runLine(installation.longshore, ['erase', '--tenant', 'north', '--user', USER, ...words], { environment: installation.environment });

async function converse(user: string): Promise<string> {
  const attachments = [{ name: 'me.txt', data: Buffer.from(`All about ${user}.`) }];
  const chat = await installation.longshore.start({ agent: 'scripted', user, tenant: 'north', message: `I am ${user}.`, attachments });
  await chat.reply();
  return chat.id;
}

async function fill(): Promise<{ closed: string; open: string }> {
  const { longshore, store } = installation;
  const [closed, open] = [await converse(USER), await converse(USER)];
  await longshore.close(closed);
  await until(async () => (await store.conversations.get(closed))?.state === 'closed', 'it is closed');
  await store.pluginStore.set({ pluginId: 'tides', tenantId: 'north', userId: USER }, 'name', CANARY);
  await longshore.memory.write(`${CANARY}.md`, `I am ${CANARY}.`, { tenant: 'north', user: USER });
  const sandbox = (await store.sandboxes.ofConversation(closed))!;
  await using sandboxes = createDockerSandboxes({ config: { ...loadConfig(), LONGSHORE_INSTALLATION: installation.name }, store, log: silent });
  await sandboxes.snapshot(sandbox.sandboxId, { name: 'before' });
  const id = `daily-${installation.name}`;
  await longshore.schedules.create({ id, agent: 'scripted', user: USER, tenant: 'north', message: `Daily ${CANARY}.`, every: '30d' });
  const { conversationId } = await longshore.schedules.trigger(id);
  await until(async () => (await store.conversations.get(conversationId))?.state === 'closed', 'the conversation of the schedule has ended');
  return { closed, open };
}

/** As a worker makes it for a plugin in Python. */
async function makePluginFiles(): Promise<string> {
  const { store } = installation;
  await using sandboxes = createDockerSandboxes({ config: { ...loadConfig(), LONGSHORE_INSTALLATION: installation.name }, store, log: silent });
  const sandboxId = ownSandboxIdOf('tides', 'north');
  await sandboxes.open({ sandboxId, tenantId: 'north' }, { metadata: { plugin: 'tides' }, onTtl: 'stop' });
  return sandboxId;
}

test('after the erasure of a user nothing of that user is in any table, on the engine or in Temporal, but the audit log; another user keeps all', async () => {
  const { longshore, store } = installation;
  const other = await converse('user-other');
  const pluginFiles = await makePluginFiles();
  const [others, otherThings] = [await census('user-other'), await things()];
  const { open } = await fill();
  const before = await census(CANARY);
  for (const table of ['conversations', 'events', 'messages', 'transcript', 'media', 'plugin_store', 'memory_places', 'memory_versions'])
    expect([table, before[table]]).not.toEqual([table, undefined]);
  expect((await histories(USER)).length).toBeGreaterThan(3);

  const asked = await erase();
  expect([asked.code, asked.err]).toEqual([2, expect.stringContaining('Add --yes')]);
  expect(await census(CANARY)).toEqual(before);

  const done = await erase('--yes');
  expect([done.err, done.code, done.out]).toEqual(['', 0, expect.stringContaining('Removed: 3 conversations')]);
  expect(done.out).toContain('Removed: 3 conversations, 1 schedules, 1 values of plugins, 1 files of memory.\n');
  expect(done.out).toContain(
    `Not looked into: the files of plugin tides for the whole tenant, in ${pluginFiles}. They may have data of the user.\nTo remove these files, for all users of the tenant: longshore erase --tenant north --plugin-files\n`,
  );
  expect(await census(CANARY)).toEqual({});
  // Temporal removes when it likes; the command names what it has not removed yet.
  expect((await histories(USER)).filter((id) => !done.out.includes(`Temporal still lists ${id}:`))).toEqual([]);
  await until(async () => (await things()).join() === otherThings.join(), 'containers and volumes of the user are gone');
  await expect(longshore.status(open)).rejects.toMatchObject({ code: 'CONVERSATION_NOT_FOUND' });
  await expect(longshore.send(open, 'Still there?')).rejects.toMatchObject({ code: 'CONVERSATION_NOT_FOUND' });

  expect(await census('user-other')).toEqual(others);
  expect((await store.conversations.get(other))?.state).toBe('idle');
  const { entries } = await longshore.audit.list({ action: 'user.erase' });
  expect(entries).toMatchObject([{ tenantId: 'north', target: expect.stringMatching(/^sha256:[0-9a-f]{32}$/) }]);
  // A second run finds nothing, and says so.
  expect((await erase('--yes')).out).toContain('Removed: 0 conversations, 0 schedules, 0 values of plugins, 0 files of memory.\n');
  await eraseFilesOfPlugin(pluginFiles);
  await longshore.close(other);
  await until(async () => (await store.conversations.get(other))?.state === 'closed', 'the other one is closed');
});

/** The tenant's files of plugins go with a command of their own. */
async function eraseFilesOfPlugin(sandboxId: string): Promise<void> {
  const line = (...words: string[]) => runLine(installation.longshore, ['erase', '--tenant', 'north', ...words], { environment: installation.environment });
  expect(await line()).toMatchObject({ code: 2, err: 'erase: it has to be said what. Give either --user or --plugin-files\n' });
  expect(await line('--plugin-files')).toMatchObject({ code: 2, err: expect.stringContaining('Add --yes') as string });
  expect(await line('--plugin-files', '--yes')).toEqual({
    code: 0,
    err: '',
    out: `Plugin tides keeps files for tenant "north" in ${sandboxId}.\nRemoved the files of plugin tides.\n`,
  });
  expect((await installation.store.sandboxes.get(sandboxId))?.state).toBe('destroyed');
  expect((await things()).filter((name) => name.includes(sandboxId))).toEqual([]);
  expect((await line('--plugin-files', '--yes')).out).toBe('No plugin keeps files for tenant "north".\n');
  const { entries } = await installation.longshore.audit.list({ action: 'plugin.erase' });
  expect(entries).toMatchObject([{ tenantId: 'north', target: 'tides' }]);
}

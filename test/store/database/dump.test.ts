import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { freePort } from '../../../src/setup/ports.ts';
import { asTenant } from '../../../src/store/database/tenant-scope.ts';
import { openStore } from '../../../src/store/open-store.ts';
import { newConversation, silent } from '../support.ts';

const run = promisify(execFile);
/** The user of the server where the tests run as root, as which Postgres does not run. */
const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

/** The directory of an installed Postgres with its programs. The embedded one has no pg_dump. */
const directory = await run('pg_config', ['--bindir']).then(
  ({ stdout }) => stdout.trim(),
  () => '/nowhere',
);
const isHere = ['initdb', 'pg_ctl', 'pg_dump', 'pg_restore'].every((program) => existsSync(join(directory, program)));
if (!isHere)
  console.log('SKIPPED: the test of dump and restore, since this machine has no Postgres with pg_dump that pg_config knows. Install one, such as postgresql.');

interface Server extends AsyncDisposable {
  address: (user: string, database: string) => string;
  query(text: string): Promise<void>;
}

/** A server of the test's own, which believes its users. */
async function startServer(): Promise<Server> {
  const home = await mkdtemp(join(tmpdir(), 'longshore-dump-'));
  const as = isRoot ? { uid: NOBODY, gid: NOBODY, cwd: home } : { cwd: home };
  if (isRoot) await chown(home, NOBODY, NOBODY);
  const [data, port] = [join(home, 'data'), await freePort()];
  await run(join(directory, 'initdb'), ['-D', data, '-U', 'admin', '-A', 'trust'], as);
  await run(join(directory, 'pg_ctl'), ['-D', data, '-w', '-l', join(home, 'log'), '-o', `-p ${port} -k ${home} -c fsync=off`, 'start'], as);
  const address: Server['address'] = (user, database) => `postgres://${user}@127.0.0.1:${port}/${database}`;
  return {
    address,
    async query(text) {
      const client = new Client(address('admin', 'postgres'));
      await client.connect();
      try {
        await client.query(text);
      } finally {
        await client.end();
      }
    },
    async [Symbol.asyncDispose]() {
      await run(join(directory, 'pg_ctl'), ['-D', data, '-w', '-m', 'immediate', 'stop'], as);
      await rm(home, { recursive: true });
    },
  };
}

(isHere ? test : test.skip)(
  'an owner that is no superuser dumps all tenants and restores them where the role of tenants does not exist, and they are kept apart there',
  async () => {
    await using server = await startServer();
    await server.query('create role app login createrole');
    for (const name of ['shop', 'again']) await server.query(`create database ${name} owner app`);
    const [from, to] = [server.address('app', 'shop'), server.address('app', 'again')];
    const store = await openStore({ url: from, log: silent });
    await store.prepareTenants();
    const [north, south] = [await newConversation(store, { tenantId: 'north' }), await newConversation(store, { tenantId: 'south' })];
    await store[Symbol.asyncDispose]();

    const file = join(tmpdir(), `longshore-dump-${process.pid}.dump`);
    const dump = (...more: string[]) => run(join(directory, 'pg_dump'), [...more, '--format=custom', `--file=${file}`, from]);
    const restore = (...more: string[]) => run(join(directory, 'pg_restore'), ['--no-owner', ...more, '--exit-on-error', `--dbname=${to}`, file]);
    try {
      await expect(dump()).rejects.toMatchObject({ stderr: expect.stringContaining('would be affected by row-level security policy') as string });
      await dump('--enable-row-security');
      await server.query('alter role longshore_tenant rename to of_another_server');
      await restore('--no-privileges');
    } finally {
      await rm(file, { force: true });
    }
    const restored = await openStore({ url: to, log: silent });
    await restored.prepareTenants();
    const seen = async () => (await restored.conversations.list({ limit: 9 })).map(({ conversationId }) => conversationId).toSorted();
    expect(await seen()).toEqual([north, south].toSorted());
    expect(await asTenant('north', seen)).toEqual([north]);
    await restored[Symbol.asyncDispose]();
  },
  120_000,
);

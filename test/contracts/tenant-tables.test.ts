import { Client } from 'pg';
import { openStore } from '../../src/store/open-store.ts';
import { createTestDatabase } from '../support/databases.ts';
import { silent } from '../store/support.ts';

/** Tables without rows of tenants, and why. Statements of a tenant may not use them at all. */
const OF_NO_TENANT: Record<string, string> = {
  longshore_migrations: 'the schema itself',
  schema_needs: 'what programs need to know of the schema',
  temporal_home: 'one row about the installation',
  plugin_settings: 'plugins are of the installation, and only operators reach them',
  plugin_reports: 'what workers say of plugins',
  plugin_grants: 'what operators grant to plugins',
  limits: 'what operators limit, which only operators reach',
  request_counts: 'numbers of requests, which the service reads before it acts for a tenant',
  pool_owners: 'workers that keep sandboxes ready',
  skills: 'files of operators, which only workers read',
  skill_files: 'files of operators, which only workers read',
  blobs: 'archives of sandboxes by random ids, which only workers read',
  host_authority: 'one row about the installation',
  hosts: 'machines that have sandboxes',
  copies_seen: 'names of volumes and containers, which only workers read',
  host_workers: 'workers that serve the sandboxes of their hosts',
  blob_chunks: 'parts of archives, which only workers read',
};

test('every table keeps tenants apart, or is on the short list of those without any rows of tenants', async () => {
  await using database = await createTestDatabase();
  const store = await openStore({ url: database.url, log: silent });
  await store.prepareTenants();
  await store[Symbol.asyncDispose]();
  const client = new Client(database.url);
  await client.connect();
  const { rows } = await client.query<{ name: string; forced: boolean; policies: string | null; open: boolean }>(
    `select relname as name, relrowsecurity and relforcerowsecurity as forced,
       (select string_agg(qual, ' and ') from pg_policies p where p.schemaname = 'public' and p.tablename = relname) as policies,
       has_table_privilege('longshore_tenant', oid, 'select, insert, update, delete') as open
     from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')`,
  );
  await client.end();
  for (const { name, forced, policies, open } of rows) {
    const isApart = !(name in OF_NO_TENANT);
    // A table that fails here needs a line in its migration: select longshore_keep_apart('<table>', 'tenant_id = longshore_tenant()');
    expect([name, forced, open]).toEqual([name, isApart, isApart]);
    if (isApart) expect(policies).toContain('longshore_tenant');
  }
  expect(rows.map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(OF_NO_TENANT)));
}, 60_000);

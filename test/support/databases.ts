import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { migrate } from '../../src/store/database/migrate.ts';

const CONNECTIONS_CLOSE_TIMEOUT_MS = 10_000;
/** What a database may still hold of sandboxes when its tests are over: nothing. Each gives a text. */
const RECORDS: { table: string; select: string }[] = [
  { table: 'sandboxes', select: `select 'sandbox ' || sandbox_id || ', ' || state || ' by its row' from sandboxes where state <> 'destroyed'` },
  { table: 'snapshots', select: `select 'snapshot ' || snapshot_id || ' of ' || sandbox_id from snapshots` },
  { table: 'blobs', select: `select 'blob ' || blob_id from blobs` },
];

/** A name for an installation of one test file; what it leaves behind is found by it. */
export function testInstallation(): string {
  return `${process.env['LONGSHORE_TEST_RUN'] ?? 'test-alone'}-${randomBytes(4).toString('hex')}`;
}

interface TestDatabaseOptions {
  sandboxes?: 'real' | 'invented';
  schema?: 'current' | 'none';
}

export interface TestDatabase {
  url: string;
  /**
   * Drops it. Fails when connections to it are still open, because they should have been closed, and when it lists sandboxes, snapshots or
   * blobs that were not ended.
   */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Makes a database for one test file, without rows. `sandboxes: 'invented'`: there will be nothing behind its rows. `schema: 'none'`: without tables too;
 * otherwise it is a copy of the run's template, which takes a third of the processor time that the migrations take.
 */
export async function createTestDatabase({ sandboxes = 'real', schema = 'current' }: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const name = testInstallation().replaceAll('-', '_');
  // Tests may set another one later.
  const admin = adminUrl();
  const template = schema === 'current' ? process.env['LONGSHORE_TEST_TEMPLATE'] : undefined;
  await query(admin, template === undefined ? `CREATE DATABASE ${name}` : `CREATE DATABASE ${name} TEMPLATE ${template}`);
  return {
    url: urlOf(name, admin),
    [Symbol.asyncDispose]: async () => {
      const open = await openConnections(name, admin);
      const records = sandboxes === 'real' ? await sandboxRecords(name, admin) : [];
      await dropDatabase(name, admin);
      if (open.length > 0) throw new Error(`${open.length} connections to the test database were left open, last doing: ${open.join('; ')}`);
      if (records.length > 0) throw new Error(`the tests have ended, and there is still: ${records.join('; ')}`);
    },
  };
}

/** Makes the database that those of the run are copies of; its name does not count as one of theirs. */
export async function createTemplate(run: string, admin: string): Promise<{ name: string; drop: () => Promise<void> }> {
  const name = `template_of_${run.replaceAll('-', '_')}`;
  await query(admin, `CREATE DATABASE ${name}`);
  await migrate(urlOf(name, admin));
  return { name, drop: () => dropDatabase(name, admin) };
}

/** The databases that a run has made and not dropped. */
export async function databasesOf(run: string): Promise<string[]> {
  const rows = await query(adminUrl(), `SELECT datname FROM pg_database WHERE starts_with(datname, '${run.replaceAll('-', '_')}_')`);
  return rows.map((row) => String(row['datname']));
}

/** What a database says there still is of sandboxes; one line each. */
export async function sandboxRecords(name: string, admin = adminUrl()): Promise<string[]> {
  const found: string[] = [];
  for (const { table, select } of RECORDS) {
    const [{ there } = {}] = await query(urlOf(name, admin), `SELECT to_regclass('${table}') IS NOT NULL AS there`);
    const rows = there === true ? await query(urlOf(name, admin), select) : [];
    found.push(...rows.map((row) => Object.values(row).join()));
  }
  return found.toSorted();
}

export async function dropDatabase(name: string, admin = adminUrl()): Promise<void> {
  await query(admin, `DROP DATABASE ${name} WITH (FORCE)`);
}

async function openConnections(name: string, admin: string): Promise<string[]> {
  const deadline = Date.now() + CONNECTIONS_CLOSE_TIMEOUT_MS;
  for (;;) {
    // The server's own cleaning may be at work there.
    const rows = await query(admin, `SELECT query FROM pg_stat_activity WHERE datname = '${name}' AND backend_type = 'client backend'`);
    // A closed socket takes the server a moment to notice.
    if (rows.length === 0 || Date.now() > deadline) return rows.map((row) => String(row['query']));
    await sleep(50);
  }
}

function adminUrl(): string {
  return process.env['DATABASE_URL'] ?? '';
}

function urlOf(name: string, admin: string): string {
  const url = new URL(admin);
  url.pathname = `/${name}`;
  return url.href;
}

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows as Record<string, unknown>[];
  } finally {
    await client.end();
  }
}

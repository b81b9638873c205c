import type { Client } from 'pg';
import { failure } from '../../contracts/errors.ts';
import { postgresFailure } from './database-failures.ts';
import { withClient } from './with-client.ts';

/** Statements of a tenant run as this role, which no policy of a table lets through to another tenant's rows. It belongs to the whole server. */
export const TENANT_ROLE = 'longshore_tenant';

const ROLE = `select rolsuper or rolbypassrls as free from pg_roles where rolname = '${TENANT_ROLE}'`;
/** Tables whose policies keep tenants apart, and which the role may not use yet. It gets no others. */
const CLOSED = `select format('%I', relname) as name from pg_class
  where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and relforcerowsecurity
    and not (has_table_privilege('${TENANT_ROLE}', oid, 'select') and has_table_privilege('${TENANT_ROLE}', oid, 'insert')
      and has_table_privilege('${TENANT_ROLE}', oid, 'update') and has_table_privilege('${TENANT_ROLE}', oid, 'delete'))`;
const SCHEMA = `select format('%I', current_schema()) as name, has_schema_privilege('${TENANT_ROLE}', current_schema(), 'usage') as open,
  format('%I', current_user) as self`;
const INSUFFICIENT_PRIVILEGE = '42501';
/** Somebody else did the same at the same time: a role of that name, a row of the catalogue, an update of it. */
const DONE_MEANWHILE = new Set(['42710', '23505', 'XX000']);
const ATTEMPTS = 5;

/**
 * Makes the role of tenants, if it is not there, and lets it use the tables that have policies.
 * @throws CONFIG_INVALID with what an administrator has to run when the database's user may not do that
 */
export async function prepareTenantRole(url: string): Promise<void> {
  try {
    await withClient(url, async (client) => {
      await haveRole(client);
      await openTables(client);
    });
  } catch (error) {
    throw postgresFailure(error);
  }
}

async function haveRole(client: Client): Promise<void> {
  const role = async () => (await client.query<{ free: boolean }>(ROLE)).rows[0];
  const create = `create role ${TENANT_ROLE} nologin`;
  if (!(await role())) await attempt(client, create);
  if ((await role())?.free) throw refused('it may see everything', [`alter role ${TENANT_ROLE} nosuperuser nobypassrls`]);
  if (await canBecome(client)) return;
  const self = (await client.query<{ self: string }>(SCHEMA)).rows[0]?.self ?? 'current_user';
  const grant = `grant ${TENANT_ROLE} to ${self}`;
  const steps = (await role()) ? [grant] : [create, grant];
  await attempt(client, grant);
  if (!(await canBecome(client))) throw refused(`the database's user ${self} may not make it or act as it`, steps);
}

async function canBecome(client: Client): Promise<boolean> {
  const became = await client.query(`begin; set local role ${TENANT_ROLE}`).then(
    () => true,
    () => false,
  );
  await client.query('rollback');
  return became;
}

async function openTables(client: Client): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    const grants = await missingGrants(client);
    if (grants.length === 0) return;
    if (tries > ATTEMPTS) throw refused('its rights on the tables cannot be given by this user', grants);
    for (const grant of grants) await attempt(client, grant);
  }
}

async function missingGrants(client: Client): Promise<string[]> {
  const [schema] = (await client.query<{ name: string; open: boolean }>(SCHEMA)).rows;
  const tables = (await client.query<{ name: string }>(CLOSED)).rows;
  return [
    ...(schema && !schema.open ? [`grant usage on schema ${schema.name} to ${TENANT_ROLE}`] : []),
    ...tables.map(({ name }) => `grant select, insert, update, delete on ${name} to ${TENANT_ROLE}`),
  ];
}

/** What it was for is looked at afterwards. */
async function attempt(client: Client, sql: string): Promise<void> {
  try {
    await client.query(sql);
  } catch (error) {
    const { code = '' } = error as { code?: string };
    // Without a role, a grant to it fails as an unknown name.
    if (code !== INSUFFICIENT_PRIVILEGE && code !== UNKNOWN_ROLE && !DONE_MEANWHILE.has(code)) throw error;
  }
}

const UNKNOWN_ROLE = '42704';

function refused(problem: string, steps: string[]): Error {
  const fix = `As an administrator of the database, run: ${steps.join('; ')}`;
  return failure('CONFIG_INVALID', { name: 'DATABASE_URL', problem: `the role ${TENANT_ROLE}, which keeps tenants apart, cannot be used: ${problem}`, fix });
}

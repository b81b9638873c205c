import type { Database } from './database/database.ts';
import { forAllTenants } from './database/tenant-scope.ts';
import type { Store, TemporalNamespace } from './store.ts';

const CLAIM = `insert into temporal_home as home (namespace, namespace_id) values ($1, $2)
  on conflict (one) do update set namespace_id = coalesce(home.namespace_id, case when home.namespace = excluded.namespace then excluded.namespace_id end)
  returning namespace, namespace_id`;
const MOVE = `insert into temporal_home (namespace, namespace_id) values ($1, $2)
  on conflict (one) do update set namespace = excluded.namespace, namespace_id = excluded.namespace_id`;

/** The namespace to which the database belongs. Undefined while it belongs to none, or has no schema. */
export async function readTemporalHome(database: Pick<Database, 'query'>): Promise<TemporalNamespace | undefined> {
  const [found] = await database.query<{ present: boolean }>('temporalHome.present', `select to_regclass('temporal_home') is not null as present`, []);
  if (!found?.present) return undefined;
  const [row] = await database.query<{ name: string; id: string | null }>(
    'temporalHome.read',
    'select namespace as name, namespace_id as id from temporal_home',
    [],
  );
  return row && { name: row.name, ...(row.id !== null && { id: row.id }) };
}

export function createTemporalHome({ database }: { database: Database }): Store['temporalHome'] {
  return {
    async claim({ name, id }): Promise<TemporalNamespace> {
      // The first call of a client that needs Temporal may be one of a tenant.
      const values = [name, id ?? null];
      const [row] = await forAllTenants(() => database.query<{ namespace: string; namespace_id: string | null }>('temporalHome.claim', CLAIM, values));
      return { name: row?.namespace ?? name, ...(typeof row?.namespace_id === 'string' && { id: row.namespace_id }) };
    },
    async move({ name, id }) {
      await database.query('temporalHome.move', MOVE, [name, id ?? null]);
    },
  };
}

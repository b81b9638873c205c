import { failure } from '../contracts/errors.ts';
import type { Json } from '../contracts/json.ts';
import type { Database, SqlValue } from './database/database.ts';
import { toJsonText } from './database/json-text.ts';
import type { PluginShelf } from './plugin-rows.ts';
import type { Store } from './store.ts';

const MAX_KEY_LENGTH = 200;
/** Characters of a value as JSON. */
export const MAX_VALUE_LENGTH = 262_144;
const MAX_KEYS = 10_000;
/** About 300 years; Postgres has no times far beyond. */
const MAX_TTL_MS = 1e13;

const SHELF = `plugin_id = $1 and tenant_id = $2 and coalesce(conversation_id, '') = $3 and coalesce(user_id, '') = $4`;
const LIVE = '(expires_at is null or expires_at > clock_timestamp())';
const EXPIRY = `case when $7::float8 is null then null else clock_timestamp() + $7::float8 * interval '1 millisecond' end`;

const GET = `select value, version::float8 as version from plugin_store where ${SHELF} and key = $5 and ${LIVE}`;

/** With `$8`, only where there is no live entry. An expired entry counts as absent, so it may be overwritten. */
const PUT = `with shelf as (select key from plugin_store where ${SHELF} and ${LIVE} limit ${MAX_KEYS + 1}),
  known as (select exists (select 1 from plugin_store where ${SHELF} and key = $5 and ${LIVE}) as known, (select count(*) from shelf) as keys),
  written as (
    insert into plugin_store (plugin_id, tenant_id, conversation_id, user_id, key, value, version, expires_at)
    select $1, $2, nullif($3, ''), nullif($4, ''), $5, $6, nextval('plugin_store_versions'), ${EXPIRY} from known where known.known or known.keys < ${MAX_KEYS}
    on conflict (plugin_id, tenant_id, (coalesce(conversation_id, '')), (coalesce(user_id, '')), key collate "C") do update
      set value = excluded.value, version = excluded.version, expires_at = excluded.expires_at, updated_at = clock_timestamp()
      where not $8::boolean or plugin_store.expires_at <= clock_timestamp()
    returning 1)
  select known.known, known.keys >= ${MAX_KEYS} as full, exists (select 1 from written) as written from known`;

const REPLACE = `update plugin_store set value = $6, version = nextval('plugin_store_versions'), expires_at = ${EXPIRY}, updated_at = clock_timestamp()
  where ${SHELF} and key = $5 and ${LIVE} and version = $8::bigint returning 1`;

const DELETE = `with gone as (delete from plugin_store where ${SHELF} and key = $5 returning ${LIVE} as live) select 1 from gone where live`;

const LIST = `select key from plugin_store where ${SHELF} and ${LIVE} and starts_with(key, $5) order by key collate "C"`;

const SWEEP = 'delete from plugin_store where expires_at <= statement_timestamp()';

export function createPluginStore({ database }: { database: Database }): Store['pluginStore'] {
  return {
    async entry(shelf, key) {
      if (!isText(key)) return undefined;
      const [found] = await database.query<{ value: Json; version: number }>('pluginStore.entry', GET, [...columnsOf(shelf), key]);
      return found;
    },
    async set(shelf, key, value, { ttlMs, ifVersion } = {}) {
      const values = [...columnsOf(shelf), key, checked(shelf, key, value), ttlMs ?? null];
      refuseOptions(shelf, key, { ttlMs, ifVersion });
      if (ifVersion !== undefined && ifVersion > 0) {
        return (await database.query('pluginStore.replace', REPLACE, [...values, ifVersion])).length > 0 ? 'updated' : 'conflict';
      }
      const [put] = await database.query<{ known: boolean; full: boolean; written: boolean }>('pluginStore.put', PUT, [...values, ifVersion === 0]);
      if (put?.written) return put.known ? 'updated' : 'created';
      if (put?.full && !put.known) throw refused(shelf, key, `it has ${MAX_KEYS} keys in this scope`, 'Delete some, or give them a ttlMs');
      return 'conflict';
    },
    delete: async (shelf, key) => isText(key) && (await database.query('pluginStore.delete', DELETE, [...columnsOf(shelf), key])).length > 0,
    async list(shelf, prefix) {
      if (!isText(prefix)) return [];
      const rows = await database.query<{ key: string }>('pluginStore.list', LIST, [...columnsOf(shelf), prefix]);
      return rows.map(({ key }) => key);
    },
    async sweep() {
      await database.query('pluginStore.sweep', SWEEP, []);
    },
  };
}

function columnsOf({ pluginId, tenantId, conversationId = '', userId = '' }: PluginShelf): SqlValue[] {
  return [pluginId, tenantId, conversationId, userId];
}

const UNKEPT = /[\0\p{Cs}]/u;

/** Whether Postgres can keep a text as it is: without NUL, and without halves of characters. */
function isText(key: unknown): key is string {
  return typeof key === 'string' && !UNKEPT.test(key);
}

/** Code of plugins in the worker's own process is not checked before. A condition that cannot be meant must not be taken for none. */
function refuseOptions(shelf: PluginShelf, key: string, { ttlMs = 0, ifVersion = 0 }: { ttlMs?: number | undefined; ifVersion?: number | undefined }): void {
  const shown = (value: unknown) => (typeof value === 'number' ? String(value) : `a ${typeof value}`);
  if (!Number.isSafeInteger(ifVersion) || ifVersion < 0)
    throw refused(shelf, key, `ifVersion is a version that was read, or 0, and not ${shown(ifVersion)}`, 'Give the version of an entry');
  if (!Number.isFinite(ttlMs) || Math.abs(ttlMs) > MAX_TTL_MS)
    throw refused(shelf, key, `ttlMs is a number of milliseconds, ${MAX_TTL_MS} at most, and not ${shown(ttlMs)}`, 'Leave it out for an entry that stays');
}

function checked(shelf: PluginShelf, key: string, value: Json): string {
  if (!isText(key)) throw refused(shelf, String(key), 'the key is no text that can be kept', 'Use a text of whole characters, without NUL');
  if (key === '' || key.length > MAX_KEY_LENGTH) throw refused(shelf, key, `the key has ${key.length} characters`, `Use 1 to ${MAX_KEY_LENGTH}`);
  const text = toJsonText(value) as string | undefined;
  if (text === undefined) throw refused(shelf, key, 'the value is not JSON', 'Give null, a boolean, a number, a text, a list or an object');
  if (text.length <= MAX_VALUE_LENGTH) return text;
  throw refused(shelf, key, `the value has ${text.length} characters of JSON; at most ${MAX_VALUE_LENGTH} are allowed`, 'Put big things into a file');
}

function refused({ pluginId }: PluginShelf, key: string, problem: string, fix: string): Error {
  return failure('PLUGIN_STORE_REFUSED', { plugin: pluginId, key: key.length <= 80 ? key : `${key.slice(0, 80)}…`, problem, fix });
}

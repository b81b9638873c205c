import { createHash } from 'node:crypto';
import { ATTACHMENT_LIMITS, isBlob, type StoredMedia } from '../../contracts/attachments/media.ts';
import { mediaTypeOf } from '../../contracts/attachments/media-type.ts';
import { failure } from '../../contracts/errors.ts';
import type { Database } from '../database/database.ts';
import { isDuplicate, isReferred } from '../database/database-failures.ts';

export interface NewMedia {
  data: Uint8Array;
  /** What the sender says; images and PDF are known by their bytes. */
  mediaType?: string | undefined;
  name?: string | undefined;
}

/** Bytes of attachments, and of images and files in results; stored once for a tenant, and used by conversations. */
export interface MediaRows {
  /**
   * Stores the bytes, unless the tenant has them, together with the use by the conversation. The same again changes nothing.
   * @throws CONVERSATION_NOT_FOUND, and ATTACHMENTS_FULL when the conversation has as much as it may
   */
  keep(conversationId: string, media: NewMedia, of: 'message' | 'result'): Promise<StoredMedia>;
  /** What the conversation uses, without the bytes. */
  find(conversationId: string, blob: string): Promise<StoredMedia | undefined>;
  /** The bytes of what the conversation uses, or the first of them; undefined for any other. */
  read(conversationId: string, blob: string, most?: number): Promise<Buffer | undefined>;
  /** All that it uses, the oldest first. */
  list(conversationId: string): Promise<StoredMedia[]>;
  /** Removes some of these bytes of a tenant, as far as no conversation uses them, and returns how many there were. */
  sweep(of: { tenantId: string; sha256: string[] }): Promise<number>;
  /** Removes, of some bytes after a place, those that no conversation uses. `next`: where to go on; absent at the end. */
  sweepAfter(place: MediaPlace | undefined, limit?: number): Promise<{ removed: number; next?: MediaPlace }>;
}

/** Bytes in the order of their tenants. */
export interface MediaPlace {
  tenantId: string;
  sha256: string;
}

/** The counters are those of the conversation's row, whose lock orders all that is given to it at the same time. */
const KEEP = `with known as (
    update media_uses set by_message = by_message or $7::boolean, name = coalesce(name, $6::text) where conversation_id = $1 and sha256 = $2 returning media_type, kind, name
  ), counter as (
    update conversations set media_bytes = media_bytes + octet_length($3::bytea), stored_bytes = stored_bytes + octet_length($3::bytea)
    where conversation_id = $1 and not exists (select from known) and media_bytes + octet_length($3::bytea) <= $8::bigint
    returning conversation_id, tenant_id
  ), kept as (
    insert into media (tenant_id, sha256, bytes, data) select tenant_id, $2, octet_length($3::bytea), $3::bytea from counter
    on conflict (tenant_id, sha256) do update set kept_at = clock_timestamp() returning tenant_id
  ), used as (
    insert into media_uses (conversation_id, tenant_id, sha256, media_type, kind, name, by_message)
    select conversation_id, kept.tenant_id, $2, $4::text, $5::text, $6::text, $7::boolean from counter join kept using (tenant_id) returning media_type, kind, name
  ), found as (select * from known union all select * from used)
  select c.media_bytes::float8 as total, found.media_type, found.kind, found.name from conversations c left join found on true where c.conversation_id = $1`;

const COLUMNS = 'u.sha256, u.media_type, u.kind, u.name, m.bytes';
const USED = 'media_uses u join media m using (tenant_id, sha256)';
const LIST = `select ${COLUMNS} from ${USED} where u.conversation_id = $1 order by u.at, u.sha256`;
const FIND = `select ${COLUMNS} from ${USED} where u.conversation_id = $1 and u.sha256 = $2`;
const READ = `select case when $3::integer is null then m.data else substring(m.data from 1 for $3) end as data from ${USED} where u.conversation_id = $1 and u.sha256 = $2`;

/** Those that were given since the statement began are used in a moment, and locked ones are looked at the next time. */
const sweeping = (which: string, end: string) => `delete from media where (tenant_id, sha256) in (
    select tenant_id, sha256 from media m where kept_at < statement_timestamp() and ${which}
      and not exists (select from media_uses u where u.tenant_id = m.tenant_id and u.sha256 = m.sha256)
    ${end} for update skip locked
  ) and kept_at < statement_timestamp() returning 1`;
const SWEEP = sweeping('tenant_id = $1 and sha256 = any($2)', 'limit 100');
/** Where there are many, to look at all of them takes too long for one statement. */
const SWEEP_AFTER = `with looked_at as materialized (
    select tenant_id, sha256 from media where (tenant_id, sha256) > ($1, $2) order by tenant_id, sha256 limit $3
  ), gone as (
    ${sweeping('(tenant_id, sha256) in (select * from looked_at)', '')}
  )
  select tenant_id as "tenantId", sha256, (select count(*)::integer from looked_at) as looked, (select count(*)::integer from gone) as removed
  from looked_at order by tenant_id desc, sha256 desc limit 1`;
const LOOKED_AT_ONCE = 10_000;

interface Row {
  sha256: string;
  media_type: string;
  kind: StoredMedia['type'];
  name: string | null;
  bytes: number;
}

export function createMedia({ database }: { database: Database }): MediaRows {
  return {
    async keep(conversationId, { data, mediaType: said, name }, of) {
      const { type, mediaType } = mediaTypeOf(data, said);
      const sha256 = digestOf(data);
      const limit = ATTACHMENT_LIMITS.bytesOfConversation;
      const values = [conversationId, sha256, Buffer.from(data.buffer, data.byteOffset, data.byteLength), mediaType, type, name ?? null];
      const keep = () => database.query<Partial<Row> & { total: number }>('media.keep', KEEP, [...values, of === 'message', limit]);
      // Somebody else gave the same at the same time: now it is known.
      const [found] = await keep().catch((error: unknown) => {
        if (isDuplicate(error, 'media_uses_pkey')) return keep();
        throw error;
      });
      if (!found) throw failure('CONVERSATION_NOT_FOUND', { conversationId });
      if (!isUsed(found)) throw failure('ATTACHMENTS_FULL', { conversationId, bytes: found.total, limit });
      return mediaOf({ ...found, sha256, bytes: data.byteLength });
    },
    async find(conversationId, blob) {
      const [row] = isBlob(blob) ? await database.query<Row>('media.find', FIND, [conversationId, hexOf(blob)]) : [];
      return row && mediaOf(row);
    },
    async read(conversationId, blob, most) {
      const [row] = isBlob(blob) ? await database.query<{ data: Buffer }>('media.read', READ, [conversationId, hexOf(blob), most ?? null]) : [];
      return row?.data;
    },
    list: async (conversationId) => (await database.query<Row>('media.list', LIST, [conversationId])).map(mediaOf),
    sweep: async ({ tenantId, sha256 }) => (await unlessGiven(() => database.query('media.sweep', SWEEP, [tenantId, sha256])))?.length ?? 0,
    async sweepAfter(place, limit = LOOKED_AT_ONCE) {
      const values = [place?.tenantId ?? '', place?.sha256 ?? '', limit];
      const rows = await unlessGiven(() => database.query<MediaPlace & { looked: number; removed: number }>('media.sweepAfter', SWEEP_AFTER, values));
      if (!rows) return { removed: 0, ...(place && { next: place }) };
      const [row] = rows;
      if (!row) return { removed: 0 };
      const { looked, removed, ...last } = row;
      return { removed, ...(looked === limit && { next: last }) };
    },
  };
}

/** Undefined where some of the bytes were given to a conversation in this very moment: the next time is early enough for the others. */
async function unlessGiven<Found>(sweep: () => Promise<Found[]>): Promise<Found[] | undefined> {
  try {
    return await sweep();
  } catch (error) {
    if (isReferred(error)) return undefined;
    throw error;
  }
}

/** Names the bytes. */
export function blobOf(data: Uint8Array): string {
  return `sha256:${digestOf(data)}`;
}

function digestOf(data: Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}

function hexOf(blob: string): string {
  return blob.slice(blob.indexOf(':') + 1);
}

/** Without a use, the statement has stored nothing. */
function isUsed<T extends Partial<Row>>(row: T): row is T & Pick<Row, 'media_type' | 'kind' | 'name'> {
  return typeof row.media_type === 'string';
}

function mediaOf({ sha256, media_type: mediaType, kind: type, name, bytes }: Row): StoredMedia {
  return { type, mediaType, ...(name !== null && { name }), blob: `sha256:${sha256}`, bytes };
}

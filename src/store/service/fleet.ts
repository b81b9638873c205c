import type { HostNeeds } from '../../contracts/hosts/needs.ts';
import { toJsonText } from '../database/json-text.ts';
import type { Database } from '../database/database.ts';

/** The disk of a host's engine. Bytes. */
export interface HostDisk {
  freeBytes: number;
  totalBytes: number;
  /** With so much it takes new sandboxes again. */
  againBytes: number;
  /** It has too little, and takes no new sandboxes. */
  isShort: boolean;
}

/** What a host has for its sandboxes. */
export interface HostFacts {
  version: string;
  runtimes: string[];
  /** Absent where the engine does not say it. */
  memoryBytes?: number;
  cpus?: number;
  /** What it may promise to its sandboxes; absent without a limit. */
  allowedBytes?: number;
  labels?: string[];
  /** Absent where no worker of it sees it. */
  disk?: HostDisk;
  /** Of the images that agents ask for by name, those that it has. */
  images?: string[];
  /** It has the image of sandboxes that ask for none. Absent where workers of earlier versions say what it has. */
  standardImage?: boolean;
}

/** What a worker learns when it says that its host is there. */
export interface HostState {
  isDraining: boolean;
  /** Other hosts are there, too. */
  hasOthers: boolean;
}

/** A host, with the number of its sandboxes by state; without those that are archived or destroyed, which are on no host. */
export interface KnownHost {
  hostId: string;
  facts?: HostFacts;
  since: string;
  heardAt: string;
  /** It was heard of in the time after which a host may be lost. */
  isThere: boolean;
  drainingSince?: string;
  sandboxes: Record<string, number>;
  snapshots: number;
  /** Those of them that are not in the blob store, and are lost with the host. */
  unstored: number;
  /** Memory limits of its sandboxes that have processes, and of those whose processes are being started or put to disk. */
  reservedBytes: number;
  /** Sandboxes that wait for memory of this host, or of any. */
  waiting: number;
}

/**
 * A host that may get a sandbox. `load`: the memory limits of its sandboxes with processes, as a part of its memory. `allowedBytes`: what it may promise, of which
 * `roomBytes` are left when warm sandboxes make room; absent without a limit.
 */
export interface Candidate {
  hostId: string;
  load: number;
  allowedBytes?: number;
  roomBytes?: number;
  /** So many wait longer for memory that it could give them; absent where none do. They come first. */
  ahead?: number;
  /** It has a warm sandbox of the template. */
  hasWarm?: true;
  /** It has said what images it has, without the one of the sandbox. */
  lacksImage?: true;
  /** It has too little disk. */
  shortDisk?: HostDisk;
}

/** A sandbox for which a host is looked for. */
export interface Wanted extends HostNeeds {
  sandboxId: string;
  conversationId?: string;
  /** What it is made of, the standard image if that has no name; and the templates of which warm sandboxes would do. */
  image?: string;
  warmOf?: string[];
  leaves?: string;
}

export interface FleetRows {
  describe(hostId: string, facts: HostFacts): Promise<void>;
  /** Replaces what a host has said of its disk. */
  noteDisk(hostId: string, disk: HostDisk): Promise<void>;
  /**
   * The hosts that may get the sandbox: those with a warm one first, then those that have its image, then the least loaded. They are there and not being drained, and have what it needs. Empty for a sandbox that has its place.
   * @param sandbox.leaves a host where it has no place any more
   */
  candidates(sandbox: Wanted, lostAfterMs: number): Promise<Candidate[]>;
  /** False when nothing is known of the host. */
  setDraining(hostId: string, isDraining: boolean): Promise<boolean>;
  hosts(lostAfterMs: number, hostId?: string): Promise<KnownHost[]>;
  /** Those that are known, of hosts that are there. */
  disks(lostAfterMs: number): Promise<({ hostId: string } & HostDisk)[]>;
  /** Removes what is known of a host, with its warm sandboxes; false while it is there, or something else is left on it. */
  forget(hostId: string, lostAfterMs: number): Promise<boolean>;
  /** For how many milliseconds workers of the host have seen each of these, which are all that copies have made on its engine now. 0 for what is new. */
  agesOfCopies(hostId: string, names: string[]): Promise<Map<string, number>>;
}

const RESERVED = 'longshore_promised_on(h.host_id, true)';
const ALLOWED = "(h.facts->>'allowedBytes')::float8";
const recent = (ms: string) => `h.heard_at > clock_timestamp() - ${ms}::float8 * interval '1 millisecond'`;

const DESCRIBE = 'insert into hosts (host_id, facts) values ($1, $2::jsonb) on conflict (host_id) do update set facts = excluded.facts';
const NOTE_DISK = "update hosts set facts = facts || jsonb_build_object('disk', $2::jsonb) where host_id = $1 and facts is not null";
const CANDIDATES = `select h.host_id, coalesce(${RESERVED} / (h.facts->>'memoryBytes')::float8, 0) as load, ${ALLOWED} as allowed,
    ${ALLOWED} - longshore_promised_on(h.host_id, false) as room,
    longshore_ahead_on(h.host_id, (select w.number from room_waits w where w.waiter = coalesce($2, $1)))::integer as ahead,
    $8::text[] is not null and exists (select from sandboxes s where s.host_id = h.host_id and s.state = 'warm' and s.options->>'template' = any($8)) as warm,
    coalesce(case when $7::text is null then not (h.facts->>'standardImage')::boolean else not h.facts->'images' ? $7 end, false) as lacks_image,
    case when (h.facts->'disk'->>'isShort')::boolean then h.facts->'disk' end as short_disk from hosts h
  where h.draining_since is null and h.facts is not null and ${recent('$4')} and ($3::text is null or h.facts->'runtimes' ? $3)
    and ($5::text[] is null or h.facts->'labels' ?& $5)
    and not exists (select from sandboxes own where (own.conversation_id = $2 or own.sandbox_id = $1 and (own.conversation_id is null or $2 is null)) and own.state <> 'archived' and own.host_id is distinct from $6)
  order by warm desc, lacks_image, 2, 1`;
const SET_DRAINING = 'update hosts set draining_since = case when $2 then coalesce(draining_since, clock_timestamp()) end where host_id = $1 returning host_id';
const HOSTS = `select h.host_id, h.facts, h.since, h.heard_at, h.draining_since, ${recent('$1')} as is_there, ${RESERVED} as reserved,
    (select count(*)::integer from room_waits w where (w.host_id = h.host_id or w.host_id is null) and longshore_is_in_line(w)) as waiting,
    (select count(*)::integer from snapshots n where n.host_id = h.host_id) as snapshots,
    (select count(*)::integer from snapshots n where n.host_id = h.host_id and n.stored is null) as unstored,
    (select coalesce(json_object_agg(state, number), '{}') from (select state, count(*) as number from sandboxes s
      where s.host_id = h.host_id and s.state not in ('archived', 'destroyed') group by state) counted) as sandboxes
  from hosts h where $2::text is null or h.host_id = $2 order by h.host_id`;
const DISKS = `select h.host_id, h.facts->'disk' as disk from hosts h where h.facts ? 'disk' and ${recent('$1')} order by 1`;
/** Warm sandboxes, and those that are being made for a pool, belong to no conversation: they are removed with their host. If it comes back, its reaper finds containers without rows. */
const IS_POOLED = "s.pool_slot is not null and s.state in ('creating', 'warm')";
const FORGET = `with gone as (delete from hosts h where h.host_id = $1 and not ${recent('$2')}
      and not exists (select from sandboxes s where s.host_id = h.host_id and s.state not in ('archived', 'destroyed') and not (${IS_POOLED}))
      and not exists (select from snapshots n where n.host_id = h.host_id and n.stored is null) returning host_id),
    unseen as (delete from copies_seen c using gone where c.host_id = gone.host_id),
    removed as (delete from sandboxes s using gone where s.host_id = gone.host_id and s.pool_slot is not null)
  select host_id from gone`;
const SEE_COPIES = `with gone as (delete from copies_seen where host_id = $1 and name <> all($2)),
    seen as (insert into copies_seen (host_id, name) select $1, unnest($2::text[]) on conflict do nothing)
  select name, extract(epoch from clock_timestamp() - seen_at)::float8 * 1000 as age from copies_seen where host_id = $1 and name = any($2)`;

interface HostRow {
  host_id: string;
  facts: HostFacts | null;
  since: Date;
  heard_at: Date;
  draining_since: Date | null;
  is_there: boolean;
  reserved: number;
  waiting: number;
  snapshots: number;
  unstored: number;
  sandboxes: Record<string, number>;
}

interface CandidateRow {
  host_id: string;
  load: number;
  allowed: number | null;
  room: number | null;
  ahead: number;
  warm: boolean;
  lacks_image: boolean;
  short_disk: HostDisk | null;
}

export function createFleet(database: Database): FleetRows {
  return {
    async describe(hostId, facts) {
      await database.query('fleet.describe', DESCRIBE, [hostId, toJsonText(facts)]);
    },
    async noteDisk(hostId, disk) {
      await database.query('fleet.noteDisk', NOTE_DISK, [hostId, toJsonText(disk)]);
    },
    async candidates({ sandboxId, conversationId, runtime, labels, leaves, image, warmOf }, lostAfterMs) {
      const wanted = [labels ?? null, leaves ?? null, image ?? null, warmOf ?? null];
      const values = [sandboxId, conversationId ?? null, runtime ?? null, lostAfterMs, ...wanted];
      const rows = await database.query<CandidateRow>('fleet.candidates', CANDIDATES, values);
      return rows.map(toCandidate);
    },
    setDraining: async (hostId, isDraining) => (await database.query('fleet.setDraining', SET_DRAINING, [hostId, isDraining])).length > 0,
    hosts: async (lostAfterMs, hostId) => (await database.query<HostRow>('fleet.hosts', HOSTS, [lostAfterMs, hostId ?? null])).map(toHost),
    async disks(lostAfterMs) {
      const rows = await database.query<{ host_id: string; disk: HostDisk }>('fleet.disks', DISKS, [lostAfterMs]);
      return rows.map(({ host_id: hostId, disk }) => ({ hostId, ...disk }));
    },
    forget: async (hostId, lostAfterMs) => (await database.query('fleet.forget', FORGET, [hostId, lostAfterMs])).length > 0,
    async agesOfCopies(hostId, names) {
      const known = await database.query<{ name: string; age: number }>('fleet.agesOfCopies', SEE_COPIES, [hostId, names]);
      const ages = new Map(known.map(({ name, age }) => [name, age]));
      return new Map(names.map((name) => [name, ages.get(name) ?? 0]));
    },
  };
}

function toCandidate({ host_id: hostId, load, allowed, room, ahead, warm, lacks_image: lacksImage, short_disk: shortDisk }: CandidateRow): Candidate {
  return {
    hostId,
    load,
    ...(allowed !== null && room !== null && { allowedBytes: allowed, roomBytes: room }),
    ...(ahead > 0 && { ahead }),
    ...(warm && { hasWarm: true }),
    ...(lacksImage && { lacksImage }),
    ...(shortDisk && { shortDisk }),
  };
}

function toHost(row: HostRow): KnownHost {
  return {
    hostId: row.host_id,
    ...(row.facts !== null && { facts: row.facts }),
    since: row.since.toISOString(),
    heardAt: row.heard_at.toISOString(),
    isThere: row.is_there,
    ...(row.draining_since !== null && { drainingSince: row.draining_since.toISOString() }),
    sandboxes: row.sandboxes,
    snapshots: row.snapshots,
    unstored: row.unstored,
    reservedBytes: row.reserved,
    waiting: row.waiting,
  };
}

import type { HostNeeds } from '../../contracts/hosts/needs.ts';
import type { Database } from '../database/database.ts';
import type { HostState } from './fleet.ts';
import type { SecretBox } from './secret-box.ts';

const FIND_AUTHORITY = 'select key, certificate from host_authority';
const ADD_AUTHORITY = 'insert into host_authority (key, certificate) values ($1, $2) on conflict do nothing';
const ANNOUNCE = `insert into host_workers (worker_id, host_id, address, fingerprint, expires_at)
  values ($1, $2, $3, $4, now() + $5::float8 * interval '1 millisecond')
  on conflict (worker_id) do update set expires_at = excluded.expires_at`;
const FORGET = 'delete from host_workers where expires_at < now()';
const WITHDRAW = 'delete from host_workers where worker_id = $1';
/** Times are those of the database alone. A gap that is long enough for the host to be given up begins another time of being there. */
const BEAT = `insert into hosts as known (host_id) values ($1) on conflict (host_id) do update set heard_at = clock_timestamp(),
  since = case when known.heard_at < clock_timestamp() - $2::float8 * interval '1 millisecond' then clock_timestamp() else known.since end
  returning draining_since is not null as draining,
    exists (select from hosts other where other.host_id <> $1 and other.heard_at > clock_timestamp() - $2::float8 * interval '1 millisecond') as others`;
const SILENCE = `select gone.heard_at from hosts gone, hosts own where gone.host_id = $1 and own.host_id = $2 and ${isGivenUp('$3')}`;
const MOST_LOST = 20;
const LOST = `select gone.host_id from hosts gone, hosts own where own.host_id = $1 and ${isGivenUp('$2')} order by gone.heard_at desc limit ${MOST_LOST}`;
/** Those with too little disk only where all have, and those without the runtime only where no host has it. */
const LIST = `with found as (select worker_id, w.host_id, address, fingerprint, case when $1::text is not null then 0
      else case when coalesce((h.facts->'disk'->>'isShort')::boolean, false) then 1 else 0 end + case when $3::text is null or h.facts->'runtimes' ? $3 then 0 else 2 end end as rank
    from host_workers w left join hosts h on h.host_id = w.host_id
    where expires_at > now() and case when $1::text is null then h.draining_since is null and ($2::text[] is null or h.facts->'labels' ?& $2) else w.host_id = $1 end)
  select worker_id, host_id, address, fingerprint from found where rank = (select min(rank) from found) order by worker_id`;

/** What the authority's key belongs to, where it is sealed. */
const AUTHORITY = 'the hosts';

/** A worker that serves the sandboxes of its host to the HTTP service. */
export interface HostWorker {
  /** Also its name in its certificate. */
  workerId: string;
  hostId: string;
  /** `host:port` */
  address: string;
  /** SHA-256 of its certificate, as Node.js writes it. */
  fingerprint: string;
}

interface AuthorityRow {
  key: string;
  certificate: string;
}

/**
 * In a statement with the rows `gone` and `own` of two hosts: whether the first one has been silent for so many milliseconds, while the second one has not. Where the
 * database was away, all hosts are silent, and none is given up before each of them has had the time to say something.
 */
export function isGivenUp(afterMs: string): string {
  const limit = `clock_timestamp() - ${afterMs}::float8 * interval '1 millisecond'`;
  return `(gone.heard_at < ${limit} and own.since < ${limit} and own.heard_at > ${limit})`;
}

/** How the HTTP service and the workers of the hosts find and know each other. */
export interface HostRows {
  /** The authority that certifies both; `make` is called when there is none yet. Both fields are PEM. */
  authority(make: () => AuthorityRow): Promise<AuthorityRow>;
  /** Lists the worker for so many milliseconds from now. */
  announce(worker: HostWorker, forMs: number): Promise<void>;
  withdraw(workerId: string): Promise<void>;
  /** Those that have announced themselves in time: of one host when given, or else of all that take sandboxes and have what is needed. */
  list(hostId?: string, needs?: HostNeeds): Promise<HostWorker[]>;
  /** Says that a host is there. After a silence of `lostAfterMs`, another host may have taken its sandboxes over. */
  beat(hostId: string, lostAfterMs: number): Promise<HostState>;
  /** When a host was last heard of that has been silent for `lostAfterMs`, while `by` was there all the time; undefined when it is not to be given up. */
  lostSince(hostId: string, by: { hostId: string; lostAfterMs: number }): Promise<string | undefined>;
  /** Ids of the hosts of which that is known; of many, the twenty that were heard of last. */
  lost(by: { hostId: string; lostAfterMs: number }): Promise<string[]>;
}

export function createHosts({ database, box }: { database: Database; box: SecretBox }): HostRows {
  const find = async () => {
    const [row] = await database.query<AuthorityRow>('hosts.authority', FIND_AUTHORITY, []);
    return row && { ...row, key: box.open(row.key, AUTHORITY) };
  };
  return {
    async authority(make) {
      const found = await find();
      if (found) return found;
      const made = make();
      await database.query('hosts.addAuthority', ADD_AUTHORITY, [box.seal(made.key, AUTHORITY), made.certificate]);
      // The first one counts.
      return (await find()) ?? made;
    },
    async announce({ workerId, hostId, address, fingerprint }, forMs) {
      await database.query('hosts.forget', FORGET, []);
      await database.query('hosts.announce', ANNOUNCE, [workerId, hostId, address, fingerprint, forMs]);
    },
    async withdraw(workerId) {
      await database.query('hosts.withdraw', WITHDRAW, [workerId]);
    },
    async list(hostId, { labels, runtime } = {}) {
      const values = [hostId ?? null, labels ?? null, runtime ?? null];
      const rows = await database.query<{ worker_id: string; host_id: string; address: string; fingerprint: string }>('hosts.list', LIST, values);
      return rows.map((row) => ({ workerId: row.worker_id, hostId: row.host_id, address: row.address, fingerprint: row.fingerprint }));
    },
    async beat(hostId, lostAfterMs) {
      const [told] = await database.query<{ draining: boolean; others: boolean }>('hosts.beat', BEAT, [hostId, lostAfterMs]);
      return { isDraining: told?.draining === true, hasOthers: told?.others === true };
    },
    async lostSince(hostId, by) {
      const [row] = await database.query<{ heard_at: Date }>('hosts.lostSince', SILENCE, [hostId, by.hostId, by.lostAfterMs]);
      return row?.heard_at.toISOString();
    },
    async lost({ hostId, lostAfterMs }) {
      return (await database.query<{ host_id: string }>('hosts.lost', LOST, [hostId, lostAfterMs])).map((row) => row.host_id);
    },
  };
}

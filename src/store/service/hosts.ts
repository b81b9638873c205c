import type { Database } from '../database/database.ts';
import type { SecretBox } from './secret-box.ts';

const FIND_AUTHORITY = 'select key, certificate from host_authority';
const ADD_AUTHORITY = 'insert into host_authority (key, certificate) values ($1, $2) on conflict do nothing';
const ANNOUNCE = `insert into host_workers (worker_id, host_id, address, fingerprint, expires_at)
  values ($1, $2, $3, $4, now() + $5::float8 * interval '1 millisecond')
  on conflict (worker_id) do update set expires_at = excluded.expires_at`;
const FORGET = 'delete from host_workers where expires_at < now()';
const WITHDRAW = 'delete from host_workers where worker_id = $1';
const LIST = `select worker_id, host_id, address, fingerprint from host_workers where expires_at > now() and ($1::text is null or host_id = $1) order by worker_id`;

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

/** How the HTTP service and the workers of the hosts find and know each other. */
export interface HostRows {
  /** The authority that certifies both; `make` is called when there is none yet. Both fields are PEM. */
  authority(make: () => AuthorityRow): Promise<AuthorityRow>;
  /** Lists the worker for so many milliseconds from now. */
  announce(worker: HostWorker, forMs: number): Promise<void>;
  withdraw(workerId: string): Promise<void>;
  /** Those that have announced themselves in time; of one host when given. */
  list(hostId?: string): Promise<HostWorker[]>;
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
    async list(hostId) {
      const rows = await database.query<{ worker_id: string; host_id: string; address: string; fingerprint: string }>('hosts.list', LIST, [hostId ?? null]);
      return rows.map((row) => ({ workerId: row.worker_id, hostId: row.host_id, address: row.address, fingerprint: row.fingerprint }));
    },
  };
}

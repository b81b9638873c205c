import type { Database } from './database/database.ts';
import type { Store } from './store.ts';

/**
 * Workers of one host take samples of the same sandboxes; one sample is enough. The interval is shorter than that between two rounds of a worker.
 * A sandbox that uses no memory rests: while its disk does not change, one sample is valid for half of the day that samples are kept.
 */
const ADD = `insert into sandbox_samples (sandbox_id, cpu_ms, cpus, memory_bytes, disk_bytes, processes)
  select fresh."sandboxId", fresh."cpuMs",
    case when fresh."cpuMs" >= former.cpu_ms and former.memory_bytes > 0 then (fresh."cpuMs" - former.cpu_ms) / nullif(extract(epoch from clock_timestamp() - former.at) * 1000, 0) end,
    fresh."memoryBytes", coalesce(fresh."diskBytes", former.disk_bytes), fresh.processes
  from json_to_recordset($1::json) as fresh ("sandboxId" text, "cpuMs" double precision, "memoryBytes" bigint, "diskBytes" bigint, processes integer)
  left join lateral (select * from sandbox_samples where sandbox_id = fresh."sandboxId" order by at desc limit 1) as former on true
  where former.at is null or former.at < clock_timestamp() - $2 * interval '1 ms' and not (
    fresh."memoryBytes" = 0 and former.memory_bytes = 0 and former.disk_bytes is not distinct from fresh."diskBytes"
    and former.at > clock_timestamp() - interval '12 hours')
  on conflict do nothing`;
const FORGET = `delete from sandbox_samples where at < statement_timestamp() - interval '24 hours'`;

const NEWEST = `select at, cpus, memory_bytes, disk_bytes, processes from sandbox_samples where sandbox_id = $1 order by at desc limit 1`;
const TIMES = `select state_ms || jsonb_build_object(state,
    coalesce((state_ms ->> state)::bigint, 0) + (extract(epoch from clock_timestamp() - state_since) * 1000)::bigint) as times
  from sandboxes where sandbox_id = $1`;

/** The template is the one that the row names. Agents and operators define templates, so there are few. */
const TOTALS = `select state, coalesce(options ->> 'template', '') as template, count(*)::integer as sandboxes,
    coalesce(sum(newest.cpus), 0) as cpus, coalesce(sum(newest.memory_bytes), 0)::float8 as memory_bytes,
    coalesce(sum(newest.disk_bytes), 0)::float8 as disk_bytes, coalesce(sum(newest.processes), 0)::integer as processes
  from sandboxes left join lateral (
    select * from sandbox_samples as sample where sandboxes.state in ('running', 'hibernated', 'stopped') and sample.sandbox_id = sandboxes.sandbox_id
    order by at desc limit 1) as newest
  on case when sandboxes.state = 'running' then newest.at > clock_timestamp() - interval '2 minutes' else newest.memory_bytes = 0 end
  where state <> 'destroyed' group by 1, 2 order by 1, 2`;

interface SampleRow {
  at: Date;
  cpus: number | null;
  memory_bytes: string;
  disk_bytes: string | null;
  processes: number;
}

export function createSamples({ database }: { database: Database }): Store['samples'] {
  return {
    async add(samples, { apartMs }) {
      if (samples.length > 0) await database.query('samples.add', ADD, [JSON.stringify(samples), apartMs]);
      await database.query('samples.forget', FORGET, []);
    },
    async newest(sandboxId) {
      const [row] = await database.query<SampleRow>('samples.newest', NEWEST, [sandboxId]);
      if (!row) return undefined;
      return {
        at: row.at.toISOString(),
        ...(row.cpus !== null && { cpus: row.cpus }),
        memoryBytes: Number(row.memory_bytes),
        ...(row.disk_bytes !== null && { diskBytes: Number(row.disk_bytes) }),
        processes: row.processes,
      };
    },
    async stateTimes(sandboxId) {
      const [row] = await database.query<{ times: Awaited<ReturnType<Store['samples']['stateTimes']>> }>('samples.times', TIMES, [sandboxId]);
      return row?.times ?? {};
    },
    async totals() {
      const rows = await database.query<TotalsRow>('samples.totals', TOTALS, []);
      return rows.map(({ memory_bytes: memoryBytes, disk_bytes: diskBytes, ...row }) => ({ ...row, memoryBytes, diskBytes }));
    },
  };
}

type Totals = Awaited<ReturnType<Store['samples']['totals']>>[number];
type TotalsRow = Omit<Totals, 'memoryBytes' | 'diskBytes'> & { memory_bytes: number; disk_bytes: number };

import type { Usage, UsageGroup, UsageLine, UsageTotals } from '../../contracts/usage.ts';
import type { Database, SqlValue } from '../database/database.ts';
import { ALL_TOTALS, ALL_USAGE, RECENT_CALL, toTotals, USAGE_TOTALS, type TotalsRow } from './usage-sql.ts';

/** Which model calls count. */
export interface UsageFilter {
  /** ISO 8601; the first moment that counts. */
  from: string;
  /** ISO 8601; the first moment that no longer counts. */
  to: string;
  tenantId?: string;
  agentId?: string;
  userId?: string;
  conversationId?: string;
}

/** The last line of the page before. */
export type UsagePlace = Pick<UsageLine, 'key' | 'tenantId'>;

/** Tokens and cost of model calls. Each answer that was stored counts once, also after its conversation was removed: then by day, under no conversation. */
export interface UsageRows {
  /** Totals by group, in the order of their keys. */
  lines(filter: UsageFilter, page: { group: UsageGroup; limit: number; after?: UsagePlace }): Promise<UsageLine[]>;
  total(filter: UsageFilter): Promise<UsageTotals>;
  /** What a turn used, when it began, and which turn ended before it. */
  turn(conversationId: string, turnId: string): Promise<{ usage: UsageTotals; startedAt?: string; previousTurnId?: string }>;
  /** Counts a model call that is no step of its conversation; the same id counts once. */
  add(place: { conversationId: string; turnId: string; id: string }, model: string, usage: Usage): Promise<void>;
  /** What was added with ids that begin with a text. */
  under(conversationId: string, beginning: string): Promise<UsageTotals>;
  /** What a tenant has used in the last `forMs` milliseconds, a day at most; also in conversations that were removed since. */
  recent(tenantId: string, forMs: number): Promise<UsageTotals>;
}

/** `tenant`: where keys of several tenants may be equal. */
const GROUPS: Record<UsageGroup, { key: string; tenant: string }> = {
  day: { key: "to_char(at at time zone 'UTC', 'YYYY-MM-DD')", tenant: "''" },
  agent: { key: 'agent_id', tenant: "''" },
  user: { key: 'user_id', tenant: 'tenant_id' },
  conversation: { key: 'conversation_id', tenant: 'tenant_id' },
  model: { key: 'model', tenant: "''" },
  tenant: { key: 'tenant_id', tenant: "''" },
};
const CONDITIONS = { tenantId: 'tenant_id', agentId: 'agent_id', userId: 'user_id', conversationId: 'conversation_id' } as const;
const IN_TIME = `tenant_id = $1 and at > statement_timestamp() - $2::float8 * interval '1 millisecond'`;
const RECENT = `select ${USAGE_TOTALS} from (
    select ${RECENT_CALL} from model_calls where ${IN_TIME} union all select ${RECENT_CALL} from removed_calls where ${IN_TIME}
  ) as used`;

const ADD = `insert into model_calls (conversation_id, step_id, turn_id, tenant_id, agent_id, user_id, model,
    input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost_usd)
  select conversation_id, $2, $3, tenant_id, agent_id, user_id, $4, $5, $6, $7, $8, $9 from conversations where conversation_id = $1
  on conflict (conversation_id, step_id) do nothing`;

const UNDER = `select ${USAGE_TOTALS} from model_calls where conversation_id = $1 and starts_with(step_id, $2)`;

const TURN = `select began.at as started, began.previous, used.* from (select ${USAGE_TOTALS} from model_calls where conversation_id = $1 and turn_id = $2) as used
  left join (
    select at, (
      select p.turn_id from events p where p.conversation_id = $1 and p.type = 'turn.finished' and p.seq < e.seq order by p.seq desc limit 1
    ) as previous
    from events e where e.conversation_id = $1 and e.turn_id = $2 and e.type = 'turn.started' order by e.seq limit 1
  ) as began on true`;

type LineRow = TotalsRow & { key: string; tenant: string };
type TurnRow = TotalsRow & { started: Date | null; previous: string | null };

export function createUsageRows({ database }: { database: Database }): UsageRows {
  return {
    async lines(filter, { group, limit, after }) {
      const { names, where, values } = conditionsOf(filter);
      const { key, tenant } = GROUPS[group];
      const [most, lastKey, lastTenant] = [1, 2, 3].map((number) => `$${values.length + number}`);
      const sql = `select * from (
          select ${key} collate "C" as key, ${tenant} collate "C" as tenant, ${ALL_TOTALS} from ${ALL_USAGE} where ${where} group by 1, 2
        ) as line where ${lastKey}::text is null or (key, tenant) > (${lastKey}, ${lastTenant}) order by key, tenant limit ${most}`;
      const page = [limit, after?.key ?? null, after?.tenantId ?? ''];
      const rows = await database.query<LineRow>(`usage.lines:${group}:${names}`, sql, [...values, ...page]);
      return rows.map((row) => ({ key: row.key, ...(row.tenant !== '' && { tenantId: row.tenant }), ...toTotals(row) }));
    },
    async total(filter) {
      const { names, where, values } = conditionsOf(filter);
      const [row] = await database.query<TotalsRow>(`usage.total:${names}`, `select ${ALL_TOTALS} from ${ALL_USAGE} where ${where}`, values);
      return toTotals(row as TotalsRow);
    },
    async turn(conversationId, turnId) {
      const [row] = await database.query<TurnRow>('usage.turn', TURN, [conversationId, turnId]);
      const { started, previous, ...totals } = row as TurnRow;
      return { usage: toTotals(totals), ...(started && { startedAt: started.toISOString() }), ...(previous !== null && { previousTurnId: previous }) };
    },
    async add({ conversationId, turnId, id }, model, { inputTokens, outputTokens, cacheReadTokens = null, cacheWriteTokens = null, costUsd = null }) {
      const values = [conversationId, id, turnId, model, inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costUsd];
      await database.query('usage.add', ADD, values);
    },
    async under(conversationId, beginning) {
      const [row] = await database.query<TotalsRow>('usage.under', UNDER, [conversationId, beginning]);
      return toTotals(row as TotalsRow);
    },
    async recent(tenantId, forMs) {
      const [row] = await database.query<TotalsRow>('usage.recent', RECENT, [tenantId, forMs]);
      return toTotals(row as TotalsRow);
    },
  };
}

function conditionsOf({ from, to, ...given }: UsageFilter): { names: string; where: string; values: SqlValue[] } {
  const names = (Object.keys(CONDITIONS) as (keyof typeof CONDITIONS)[]).filter((name) => given[name] !== undefined);
  const conditions = names.map((name, index) => `${CONDITIONS[name]} = $${index + 3}`);
  const where = ['at >= $1::timestamptz', 'at < $2::timestamptz', ...conditions].join(' and ');
  return { names: names.join(), where, values: [from, to, ...names.map((name) => given[name] ?? null)] };
}

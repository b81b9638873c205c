import { MOST_TIMERS, type PluginTimer } from '../../contracts/plugins/timer.ts';
import type { Database } from '../database/database.ts';
import { toJsonText } from '../database/json-text.ts';

export interface PluginInConversation {
  pluginId: string;
  conversationId: string;
}

export interface DueTimer extends PluginInConversation {
  timerId: string;
  dueMs: number;
  text: string;
  /** The newest turn of the conversation; absent before its first one. */
  turnId?: string;
}

/** Timers that plugins have set. */
export interface PluginTimers {
  /** Sets a timer; the same id is one timer, also when it is over. `full`: `MOST_TIMERS` are reached. */
  set(place: PluginInConversation, timer: PluginTimer): Promise<'set' | 'closed' | 'full'>;
  /** Those that wait, by the time at which they are due. */
  waiting(place: PluginInConversation): Promise<PluginTimer[]>;
  /** Clears those with these ids, or those of a kind, or all. */
  clear(place: PluginInConversation, which: { timerIds?: string[]; temporary?: boolean }): Promise<void>;
  /** Some that are due, of plugins that are enabled and conversations that are open. */
  due(limit: number): Promise<DueTimer[]>;
  /** Says that one went off. */
  wentOff(timer: DueTimer): Promise<void>;
  /** Removes those that have been over for a day, and those of closed conversations. */
  sweep(): Promise<void>;
}

const SET = `select longshore_set_plugin_timer($1, $2, $3, to_timestamp($4::float8 / 1000), $5::json #>> '{}', $6, $7) as outcome`;
const WAITING = `select timer_id as "timerId", round(extract(epoch from due_at) * 1000)::float8 as "dueMs", text, temporary from plugin_timers
  where conversation_id = $1 and plugin_id = $2 and over_at is null order by due_at, timer_id`;
const CLEAR = `update plugin_timers set over_at = clock_timestamp(), text = ''
  where conversation_id = $1 and plugin_id = $2 and over_at is null and ($3::text[] is null or timer_id = any($3)) and ($4::boolean is null or temporary = $4)`;
const DUE = `select t.conversation_id as "conversationId", t.plugin_id as "pluginId", t.timer_id as "timerId",
    round(extract(epoch from t.due_at) * 1000)::float8 as "dueMs", t.text,
    (select e.turn_id from transcript e where e.conversation_id = t.conversation_id order by e.seq desc limit 1) as "turnId"
  from plugin_timers t join conversations c on c.conversation_id = t.conversation_id and c.state <> 'closed'
  where t.over_at is null and t.due_at <= statement_timestamp()
    and not exists (select from plugin_settings s where s.plugin_id = t.plugin_id and not s.enabled)
  order by t.due_at, t.timer_id limit $1`;
const WENT_OFF = `update plugin_timers set over_at = clock_timestamp(), text = ''
  where conversation_id = $1 and plugin_id = $2 and timer_id = $3 and over_at is null`;
const SWEEP = `delete from plugin_timers t where t.over_at < statement_timestamp() - interval '1 day'
  or (t.over_at is null and exists (select from conversations c where c.conversation_id = t.conversation_id and c.state = 'closed'))`;

export function createPluginTimers({ database }: { database: Database }): PluginTimers {
  return {
    async set({ conversationId, pluginId }, { timerId, dueMs, text, temporary }) {
      const values = [conversationId, pluginId, timerId, dueMs, toJsonText(text), temporary, MOST_TIMERS];
      const [row] = await database.query<{ outcome: 'set' | 'closed' | 'full' }>('pluginTimers.set', SET, values);
      return row?.outcome ?? 'closed';
    },
    waiting: ({ conversationId, pluginId }) => database.query<PluginTimer>('pluginTimers.waiting', WAITING, [conversationId, pluginId]),
    async clear({ conversationId, pluginId }, { timerIds, temporary }) {
      await database.query('pluginTimers.clear', CLEAR, [conversationId, pluginId, timerIds ?? null, temporary ?? null]);
    },
    async due(limit) {
      const rows = await database.query<Omit<DueTimer, 'turnId'> & { turnId: string | null }>('pluginTimers.due', DUE, [limit]);
      return rows.map(({ turnId, ...timer }) => ({ ...timer, ...(turnId !== null && { turnId }) }));
    },
    async wentOff({ conversationId, pluginId, timerId }) {
      await database.query('pluginTimers.wentOff', WENT_OFF, [conversationId, pluginId, timerId]);
    },
    async sweep() {
      await database.query('pluginTimers.sweep', SWEEP, []);
    },
  };
}

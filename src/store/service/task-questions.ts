import { randomUUID } from 'node:crypto';
import type { ConversationState } from '../../contracts/conversation.ts';
import type { ModelShare, Usage, UsageTotals, UsedByTasks } from '../../contracts/usage.ts';
import type { Database } from '../database/database.ts';
import { toTotals, USAGE_TOTALS, type TotalsRow } from './usage-sql.ts';

/** A question of a task of a plugin to the model of a conversation's agent. */
export interface AskedByTask {
  conversationId: string;
  /** The newest one. */
  turnId: string;
  pluginId: string;
  /** The same each time the plugin asks it. */
  questionId: string;
}

/** What is known of the conversation when one of its questions is about to be asked. */
export interface AskingPlace {
  state: ConversationState;
  /** What tasks may use in all; absent where no workflow has said it. */
  mayUse?: ModelShare;
  /** What they have used, and may still use for questions that are not answered. */
  used: UsageTotals;
  /** How often the plugin has asked within an hour. */
  asked: number;
}

/** One attempt at a question. */
export type Attempt = Pick<AskedByTask, 'conversationId'> & { id: string };

/** Questions of tasks to models, as rows of `model_calls`. */
export interface TaskQuestions {
  /**
   * Counts the most that a question may use, before it is asked, and so that no other question of the conversation is decided about at the same time. `held`:
   * another worker asks it. `gone`: there is no such conversation. What `decide` throws is thrown.
   */
  reserve(question: AskedByTask, model: string, decide: (place: AskingPlace) => Usage): Promise<Attempt | 'held' | 'gone'>;
  /** Says that the question is still being asked. Without this, another worker may ask it after half a minute. */
  hold(attempt: Attempt): Promise<void>;
  /** Counts what an answer has used instead. False: the conversation has been removed. */
  settle(attempt: Attempt, usage: Usage): Promise<boolean>;
  /** Counts nothing: the model has not answered. */
  drop(attempt: Attempt): Promise<void>;
  /** What all have used, without the most that those may use that are being asked; undefined: there were none. */
  used(conversationId: string): Promise<UsedByTasks | undefined>;
}

const TASKS = 'plugin-task-';
// The words of the index.
const OF_TASKS = `starts_with(step_id, '${TASKS}')`;
const HOLD = "statement_timestamp() + interval '30 seconds'";

const PLACE = `select c.state, c.status -> 'tasksMayUse' as may_use, used.* from conversations c, lateral (
    select ${USAGE_TOTALS},
      (count(*) filter (where starts_with(step_id, $2) and at > statement_timestamp() - interval '1 hour'))::float8 as asked,
      coalesce(bool_or(held_until > statement_timestamp()) filter (where starts_with(step_id, $3)), false) as held
    from model_calls where conversation_id = c.conversation_id and ${OF_TASKS}
  ) used where c.conversation_id = $1`;
const RESERVE = `insert into model_calls (conversation_id, step_id, turn_id, tenant_id, agent_id, user_id, model, input_tokens, output_tokens, cost_usd, estimated, held_until)
  select conversation_id, $2, $3, tenant_id, agent_id, user_id, $4, $5, $6, $7, true, ${HOLD} from conversations where conversation_id = $1 returning 1`;
const HOLD_ON = `update model_calls set held_until = ${HOLD} where conversation_id = $1 and step_id = $2`;
// It stays held for the time in which the plugin gets its answer.
const SETTLE = `update model_calls set input_tokens = $3, output_tokens = $4, cache_read_tokens = $5, cache_write_tokens = $6, cost_usd = $7, estimated = false, held_until = ${HOLD}
  where conversation_id = $1 and step_id = $2 returning 1`;
const DROP = 'delete from model_calls where conversation_id = $1 and step_id = $2';
const USED = `select ${USAGE_TOTALS} from model_calls
  where conversation_id = $1 and ${OF_TASKS} and not (estimated and held_until > statement_timestamp())`;

type PlaceRow = TotalsRow & { state: ConversationState; may_use: ModelShare | null; asked: number; held: boolean };

export function createTaskQuestions({ database }: { database: Database }): TaskQuestions {
  return {
    reserve({ conversationId, turnId, pluginId, questionId }, model, decide) {
      // Ids of plugins have no colon.
      const ofPlugin = `${TASKS}${pluginId}:`;
      const ofQuestion = `${ofPlugin}${questionId}:`;
      return database.withLock(`questions of tasks ${conversationId}`, 'alone', async () => {
        const [row] = await database.query<PlaceRow>('taskQuestions.place', PLACE, [conversationId, ofPlugin, ofQuestion]);
        if (!row) return 'gone';
        if (row.held) return 'held';
        const { state, may_use: mayUse, asked } = row;
        const { inputTokens, outputTokens, costUsd = null } = decide({ state, ...(mayUse && { mayUse }), used: toTotals(row), asked });
        const id = `${ofQuestion}${randomUUID()}`;
        const values = [conversationId, id, turnId, model, inputTokens, outputTokens, costUsd];
        const reserved = await database.query('taskQuestions.reserve', RESERVE, values);
        return reserved.length > 0 ? { conversationId, id } : 'gone';
      });
    },
    async hold({ conversationId, id }) {
      await database.query('taskQuestions.hold', HOLD_ON, [conversationId, id]);
    },
    async settle({ conversationId, id }, { inputTokens, outputTokens, cacheReadTokens = null, cacheWriteTokens = null, costUsd = null }) {
      const values = [conversationId, id, inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costUsd];
      return (await database.query('taskQuestions.settle', SETTLE, values)).length > 0;
    },
    async drop({ conversationId, id }) {
      await database.query('taskQuestions.drop', DROP, [conversationId, id]);
    },
    async used(conversationId) {
      const [row] = await database.query<TotalsRow>('taskQuestions.used', USED, [conversationId]);
      const { calls, inputTokens, outputTokens, knownCostUsd, unpricedCalls } = toTotals(row as TotalsRow);
      return calls === 0 ? undefined : { inputTokens, outputTokens, costUsd: knownCostUsd, unpricedCalls };
    },
  };
}

import type { EventData } from '../../contracts/events.ts';
import type { JsonObject } from '../../contracts/json.ts';
import type { Database } from '../database/database.ts';
import { entriesOf } from '../database/entries-of.ts';

/** A call about which a person has decided. */
export interface PastDecision {
  conversationId: string;
  callId: string;
  tool: string;
  /** As the person saw them. */
  arguments: JsonObject;
  answer: 'allow' | 'deny';
  at: string;
  /** The conversation is that of a sub-agent: its messages were written by a model. */
  ofSubAgent: boolean;
  /** What the user had written by then, oldest first. */
  userMessages: string[];
}

/** What judges of calls have said, and what they are shown. */
export interface JudgementRows {
  /** The verdict about a call. */
  find(conversationId: string, callId: string): Promise<EventData['tool.judged'] | undefined>;
  /**
   * What the user has written here, oldest first: no notices about sub-agents, which are put into the transcript as messages, nothing that was imported, and nothing
   * that a rewind has taken back.
   */
  userMessages(conversationId: string): Promise<string[]>;
  /** Whether it is a fork that has entries of a sub-agent, whose messages were written by a model. */
  isOfSubAgent(conversationId: string): Promise<boolean>;
  /** The newest decisions of people about calls of an agent, newest first. Those whose arguments were removed are left out. */
  pastDecisions(agentId: string, limit: number): Promise<PastDecision[]>;
}

const FIND = "select data from events where conversation_id = $1 and key = 'tool.judged/' || $2";

/** Messages of the user before an entry of the transcript (`before`, a number). `each` is a condition on every one. */
const messagesBefore = (conversation: string, before: string, each = 'true') => `select coalesce(json_agg(u.text order by u.seq), '[]'::json) from (
    select t.seq, (select string_agg(part->>'text', E'\\n') from json_array_elements(t.entry->'content') part where part->>'type' = 'text') as text
    from ${entriesOf(conversation)} t
    where t.entry->>'role' = 'user' and t.key not like 'ended-%' and t.key not like 'imported-%' and t.seq < ${before} and ${each}
  ) u`;

const USER_MESSAGES = `select (${messagesBefore('$1', '2147483647', 'not t.rewound')}) as texts`;

const OF_SUB_AGENT = `select exists (select from transcript_parts p join conversations s on s.conversation_id = p.source_id
  where p.conversation_id = $1 and s.status->'parent' is not null) as is`;

const PAST = `with decided as (
    select e.conversation_id, e.at, e.data->>'callId' as call_id, e.data->>'tool' as tool, e.data->>'answer' as answer, c.status->'parent' is not null as of_sub_agent
    from events e join conversations c using (conversation_id)
    where c.agent_id = $1 and c.compacted_at is null and e.type = 'tool.approval-resolved'
      and e.data->>'answer' in ('allow', 'allow-once', 'deny') and coalesce(e.data->>'by', '') not in ('policy', 'judge')
    order by e.at desc limit $2
  )
  select d.*, t.step_id,
    coalesce((select r.data->'arguments' from events r where r.conversation_id = d.conversation_id and r.type = 'tool.approval-requested'
      and r.data->>'callId' = d.call_id order by r.seq limit 1), t.arguments::json) as arguments,
    (${messagesBefore('d.conversation_id', `coalesce((select a.seq from transcript a where a.conversation_id = d.conversation_id and a.key = t.step_id), 2147483647)`)}) as texts
  from decided d join tool_calls t on t.call_id = d.call_id and t.conversation_id = d.conversation_id
  order by d.at desc`;

interface PastRow {
  conversation_id: string;
  at: Date;
  call_id: string;
  tool: string;
  answer: string;
  of_sub_agent: boolean;
  arguments: JsonObject;
  texts: string[];
}

export function createJudgements({ database }: { database: Database }): JudgementRows {
  return {
    async find(conversationId, callId) {
      const [found] = await database.query<{ data: EventData['tool.judged'] }>('judgements.find', FIND, [conversationId, callId]);
      return found?.data;
    },
    async userMessages(conversationId) {
      const [found] = await database.query<{ texts: string[] }>('judgements.userMessages', USER_MESSAGES, [conversationId]);
      return found?.texts ?? [];
    },
    async isOfSubAgent(conversationId) {
      const [found] = await database.query<{ is: boolean }>('judgements.isOfSubAgent', OF_SUB_AGENT, [conversationId]);
      return found?.is === true;
    },
    async pastDecisions(agentId, limit) {
      const rows = await database.query<PastRow>('judgements.pastDecisions', PAST, [agentId, limit]);
      return rows.map(({ conversation_id: conversationId, call_id: callId, tool, at, answer, of_sub_agent: ofSubAgent, arguments: given, texts }) => ({
        conversationId,
        callId,
        tool,
        arguments: given,
        answer: answer === 'deny' ? 'deny' : 'allow',
        at: at.toISOString(),
        ofSubAgent,
        userMessages: texts,
      }));
    },
  };
}

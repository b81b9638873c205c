import type { ParentSandbox } from '../../contracts/sub-agents/sandbox-use.ts';
import type { Database } from '../database/database.ts';

/** In which sandboxes sub-agents work. */
export interface SandboxUses {
  /** Absent for a conversation with a sandbox of its own. `owner`: the conversation whose sandbox it shares. */
  of(conversationId: string): Promise<{ sandbox: ParentSandbox; owner?: { conversationId: string; agentId: string } } | undefined>;
  /**
   * Whether calls of others than `butFor` run in the sandbox of a conversation: its own, or those of sub-agents that share it. While a sub-agent alone is paused, its
   * command runs on, and so does the sandbox.
   */
  isBusy(ownerId: string, butFor: string): Promise<boolean>;
  /** A sub-agent that shares the sandbox of a conversation and has a turn under way, if there is one. */
  guestAtWork(ownerId: string): Promise<string | undefined>;
  /** Calls that have begun in the sandbox of a conversation: whether one `works`, or all wait for calls of their code. */
  inUse(ownerId: string): Promise<'no' | 'waits' | 'works'>;
}

const OF = `select c.status->'parent'->'sandbox' as sandbox, o.conversation_id as owner_id, o.agent_id
  from conversations c left join conversations o on o.conversation_id = c.status->'parent'->'sandbox'->>'conversationId'
  where c.conversation_id = $1 and c.status->'parent'->'sandbox' is not null`;

// A call of code that waits for calls of its own does nothing in the sandbox, and neither does one that waits for agents or clients. A pause by an
// operator of the sandbox's own conversation holds the calls of all: a command that began at that moment may have woken them. Few calls run at one moment.
const BUSY = `with at_work as materialized (select call_id, conversation_id, tool from tool_calls where state = 'running')
  select exists (
    select from at_work t join conversations c on c.conversation_id = t.conversation_id
    where (c.conversation_id = $1 or c.status->'parent'->'sandbox'->>'conversationId' = $1) and c.state <> 'closed'
      and (c.conversation_id <> $2 or c.conversation_id <> $1 and c.state = 'paused')
      and (c.state <> 'paused' or not exists (select from conversations o where o.conversation_id = $1 and o.state = 'paused' and o.status->'paused'->>'by' = 'operator'))
      and t.tool not like 'agents:%' and t.tool not like 'client:%'
      and not exists (select from tool_calls own where own.conversation_id = t.conversation_id and own.parent_call_id = t.call_id and own.state in ('proposed', 'running'))
  ) as busy`;

const GUEST_AT_WORK = `select conversation_id from conversations
  where state = 'running' and status->'parent'->'sandbox'->>'conversationId' = $1 order by conversation_id limit 1`;

const IN_USE = `select count(*)::integer as begun, (count(*) filter (where not exists (select from tool_calls own
      where own.conversation_id = t.conversation_id and own.parent_call_id = t.call_id and own.state in ('proposed', 'running'))))::integer as working
  from tool_calls t join conversations c on c.conversation_id = t.conversation_id
  where t.state = 'running' and (c.conversation_id = $1 or c.status->'parent'->'sandbox'->>'conversationId' = $1) and c.state <> 'closed'
    and t.tool not like 'agents:%' and t.tool not like 'client:%'`;

interface UseRow {
  sandbox: ParentSandbox;
  owner_id: string | null;
  agent_id: string | null;
}

export function createSandboxUses({ database }: { database: Database }): SandboxUses {
  return {
    async of(conversationId) {
      const [row] = await database.query<UseRow>('sandboxUses.of', OF, [conversationId]);
      if (!row) return undefined;
      const { sandbox, owner_id: ownerId, agent_id: agentId } = row;
      return { sandbox, ...(ownerId !== null && agentId !== null && { owner: { conversationId: ownerId, agentId } }) };
    },
    async isBusy(ownerId, butFor) {
      const [row] = await database.query<{ busy: boolean }>('sandboxUses.isBusy', BUSY, [ownerId, butFor]);
      return row?.busy === true;
    },
    async guestAtWork(ownerId) {
      const [row] = await database.query<{ conversation_id: string }>('sandboxUses.guestAtWork', GUEST_AT_WORK, [ownerId]);
      return row?.conversation_id;
    },
    async inUse(ownerId) {
      const [row] = await database.query<{ begun: number; working: number }>('sandboxUses.inUse', IN_USE, [ownerId]);
      if (!row || row.begun === 0) return 'no';
      return row.working > 0 ? 'works' : 'waits';
    },
  };
}

import { defineSearchAttributeKey, SearchAttributeType, type SearchAttributePair } from '@temporalio/common';
import type { Parent } from '../../contracts/sub-agent.ts';
import type { ScheduledBy } from '../../contracts/schedule.ts';

interface Ids {
  agentId: string;
  userId: string;
  tenantId: string;
  scheduledBy?: ScheduledBy;
  parent?: Parent;
}

/**
 * The attributes of a new conversation. Its workflow keeps `ConversationState`, `SandboxTier` and `AwaitingApproval` up to date. Temporal stores attributes as
 * they are: with encryption, the id of the user is left out, since it may be a name or an address.
 */
export function initialSearchAttributes(
  { scheduledBy, parent, ...ids }: Ids,
  { state, encrypted }: { state: 'running' | 'idle'; encrypted: boolean },
): SearchAttributePair[] {
  return [
    { key: keyword('AgentId'), value: ids.agentId },
    ...(encrypted ? [] : [{ key: keyword('UserId'), value: ids.userId }]),
    { key: keyword('TenantId'), value: ids.tenantId },
    { key: keyword('ConversationState'), value: state },
    { key: keyword('SandboxTier'), value: 'none' },
    { key: defineSearchAttributeKey('AwaitingApproval', SearchAttributeType.BOOL), value: false },
    ...(parent ? [{ key: keyword('ParentId'), value: parent.conversationId }] : []),
    ...(scheduledBy ? origin(scheduledBy) : []),
  ];
}

/** Temporal's own attributes, which every server knows. With them, Temporal's lists of a schedule's workflows include its conversations. */
function origin({ scheduleId, at }: ScheduledBy): SearchAttributePair[] {
  return [
    { key: keyword('TemporalScheduledById'), value: scheduleId },
    { key: defineSearchAttributeKey('TemporalScheduledStartTime', SearchAttributeType.DATETIME), value: new Date(at) },
  ];
}

function keyword(name: string) {
  return defineSearchAttributeKey(name, SearchAttributeType.KEYWORD);
}

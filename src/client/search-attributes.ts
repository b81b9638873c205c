import { defineSearchAttributeKey, SearchAttributeType, type SearchAttributePair } from '@temporalio/common';

/** What a conversation is born with; its workflow keeps the last three up to date. */
export function initialSearchAttributes(ids: { agentId: string; userId: string; tenantId: string }, state: 'running' | 'idle'): SearchAttributePair[] {
  return [
    { key: keyword('AgentId'), value: ids.agentId },
    { key: keyword('UserId'), value: ids.userId },
    { key: keyword('TenantId'), value: ids.tenantId },
    { key: keyword('ConversationState'), value: state },
    { key: keyword('SandboxTier'), value: 'none' },
    { key: defineSearchAttributeKey('AwaitingApproval', SearchAttributeType.BOOL), value: false },
  ];
}

function keyword(name: string) {
  return defineSearchAttributeKey(name, SearchAttributeType.KEYWORD);
}

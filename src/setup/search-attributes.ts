import type { Connection } from '@temporalio/client';

/** Values of Temporal's enum IndexedValueType. */
const KEYWORD = 2;
const BOOL = 5;
const ALREADY_EXISTS = 6;

/** The search attributes of conversations, with their types. */
export const SEARCH_ATTRIBUTES = {
  AgentId: KEYWORD,
  UserId: KEYWORD,
  TenantId: KEYWORD,
  ConversationState: KEYWORD,
  SandboxTier: KEYWORD,
  AwaitingApproval: BOOL,
} as const;

/** Registers the search attributes that the namespace does not have. May be repeated, and run by several processes at once. Returns the missing names. */
export async function registerSearchAttributes(connection: Connection, namespace: string): Promise<string[]> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  const missing = Object.entries(SEARCH_ATTRIBUTES).filter(([name]) => !(name in customAttributes));
  if (missing.length === 0) return [];
  try {
    await connection.operatorService.addSearchAttributes({ namespace, searchAttributes: Object.fromEntries(missing) });
  } catch (error) {
    if ((error as { code?: number }).code !== ALREADY_EXISTS) throw error;
  }
  return missing.map(([name]) => name);
}

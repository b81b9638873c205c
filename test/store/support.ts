import { pino } from 'pino';
import type { AuditSource } from '../../src/contracts/audit.ts';
import type { ConversationStatus } from '../../src/contracts/conversation.ts';
import { makeId } from '../../src/contracts/ids.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import type { NewToolCall } from '../../src/store/tool-call-rows.ts';
import { createTestDatabase } from '../support/databases.ts';

export const silent = pino({ level: 'silent' });

/** Who makes the changes of a test. */
export const BY: AuditSource = { actor: { kind: 'login', id: 'tester' } };

export function newId(prefix: Parameters<typeof makeId>[0]): string {
  return makeId(prefix, Date.now(), Math.random);
}

export function statusOf(conversationId: string, overrides: Partial<ConversationStatus> = {}): ConversationStatus {
  return {
    conversationId,
    agentId: 'fixer',
    userId: 'user-1',
    tenantId: 'default',
    state: 'idle',
    queued: 0,
    turnsUsed: 0,
    stepsUsed: 0,
    tokensUsed: 0,
    workedMs: 0,
    sandboxTier: 'none',
    pendingApprovals: [],
    runningCalls: [],
    ...overrides,
  };
}

/** Creates a conversation and returns its id; its log starts with one event. */
export async function newConversation(store: Store, overrides: Partial<ConversationStatus> = {}): Promise<string> {
  const conversationId = newId('conv');
  const status = statusOf(conversationId, overrides);
  await store.conversations.create({ ...status, status });
  return conversationId;
}

export async function newCall(store: Store, conversationId: string, overrides: Partial<NewToolCall> = {}): Promise<NewToolCall> {
  const call = {
    callId: newId('call'),
    conversationId,
    turnId: 'turn_1',
    stepId: 'step_1',
    tool: 'shell:run',
    arguments: { command: 'true' },
    hash: 'hash-1',
    ...overrides,
  };
  await store.toolCalls.propose([call]);
  return call;
}

/** A store on a database of its own; both go with the disposal. */
export async function openTestStore(): Promise<{ store: Store; url: string; [Symbol.asyncDispose](): Promise<void> }> {
  const database = await createTestDatabase({ sandboxes: 'invented' });
  const store = await openStore({ url: database.url, log: silent });
  return {
    store,
    url: database.url,
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}

/** Gives the tests of a file a store on a database of its own. */
export function useTestStore(take: (opened: { store: Store; url: string }) => void): void {
  let opened: Awaited<ReturnType<typeof openTestStore>> | undefined;
  beforeAll(async () => {
    opened = await openTestStore();
    take(opened);
  });
  afterAll(async () => opened?.[Symbol.asyncDispose]());
}

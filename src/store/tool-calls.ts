import { failure } from '../contracts/errors.ts';
import type { Json, JsonObject } from '../contracts/json.ts';
import type { ContentPart } from '../contracts/transcript.ts';
import type { Announcer } from './database/announcer.ts';
import type { Database } from './database/database.ts';
import { eventsText } from './database/event-sql.ts';
import { lacksConversation } from './database/database-failures.ts';
import { toJsonText } from './database/json-text.ts';
import type { SandboxPlace } from './sandbox-rows.ts';
import type { NewEvent, Store } from './store.ts';
import type { CallResult, ClaimResult, NewMethodCall, ToolCallRow, ToolCallState } from './tool-call-rows.ts';
import { CLAIM, CLAIM_METHOD, COUNTS, EDIT, GET, OF_STEP, OPEN_OF, OPEN_OF_CODE, PROPOSE, PROPOSE_METHOD, RECORD_METHOD, SETTLE } from './tool-call-sql.ts';

interface Row {
  call_id: string;
  conversation_id: string;
  turn_id: string;
  step_id: string;
  tool: string;
  arguments: JsonObject;
  hash: string;
  state: ToolCallState;
  fence: number;
  content: ContentPart[] | null;
  is_error: boolean;
  requested_at: Date;
  started_at: Date | null;
  finished_at: Date | null;
  parent_call_id: string | null;
  value: { value: Json } | null;
}

export function createToolCalls({ database, announcer }: { database: Database; announcer: Announcer }): Store['toolCalls'] {
  const { claimOn, claimAnywhere } = claimsOf(database, announcer);
  return {
    async propose(calls) {
      if (calls.length === 0) return;
      try {
        await database.query('toolCalls.propose', PROPOSE, [toJsonText(calls)]);
      } catch (error) {
        throw lacksConversation(error) ? failure('CONVERSATION_NOT_FOUND', { conversationId: calls[0]?.conversationId ?? '' }) : error;
      }
    },
    async proposeMethod(call, events, storageLimit) {
      const proposed = await database.query('toolCalls.proposeMethod', PROPOSE_METHOD, methodValues(call, events, storageLimit));
      if (proposed.length > 0) announcer.announce(call.conversationId);
      else await refuseSuperseded(database, call.from);
      return proposed.length > 0 || (await database.query('toolCalls.get', GET, [call.callId])).length > 0;
    },
    async claimMethod(call, { requested, started }, storageLimit) {
      const [row] = await database.query<Row>('toolCalls.claimMethod', CLAIM_METHOD, methodValues(call, [...requested, ...started], storageLimit));
      if (!row) return refuseSuperseded(database, call.from).then(() => claimAnywhere(call.callId, call.hash, started));
      announcer.announce(call.conversationId);
      return claimedCall(toCall(row), 0);
    },
    async recordMethod(call, result, events, storageLimit) {
      const recorded = await database.query('toolCalls.recordMethod', RECORD_METHOD, [...methodValues(call, events, storageLimit), ...resultValues(result)]);
      if (recorded.length > 0) {
        announcer.announce(call.conversationId);
        return 'recorded';
      }
      await refuseSuperseded(database, call.from);
      return (await database.query('toolCalls.get', GET, [call.callId])).length > 0 ? 'exists' : 'missing';
    },
    ...readerOf(database),
    claim: claimAnywhere,
    claimOn,
    async settle(callId, fence, result, events, from) {
      const [settled] = await database.query<{ conversation_id: string }>('toolCalls.settle', SETTLE, [
        callId,
        fence ?? null,
        eventsText(events),
        ...placeValues(from),
        ...resultValues(result),
      ]);
      if (settled) announcer.announce(settled.conversation_id);
      return settled !== undefined;
    },
    async edit(callId, argumentsEdited, hash) {
      const edited = await database.query('toolCalls.edit', EDIT, [callId, toJsonText(argumentsEdited), hash]);
      return edited.length > 0;
    },
  };
}

function readerOf(database: Database): Pick<Store['toolCalls'], 'get' | 'ofStep' | 'openOf' | 'openOfCode'> {
  return {
    async get(callId) {
      const rows = await database.query<Row>('toolCalls.get', GET, [callId]);
      return rows.map(toCall)[0];
    },
    async ofStep(conversationId, stepId) {
      const rows = await database.query<Row>('toolCalls.ofStep', OF_STEP, [conversationId, stepId]);
      return rows.map(toCall);
    },
    async openOf(conversationId) {
      const rows = await database.query<Row>('toolCalls.openOf', OPEN_OF, [conversationId]);
      return rows.map(({ call_id, tool, state, turn_id, step_id }) => ({ callId: call_id, tool, state, turnId: turn_id, stepId: step_id }));
    },
    async openOfCode({ conversationId, stepId, callId }) {
      const values = [conversationId, stepId, callId];
      const rows = await database.query<Pick<Row, 'call_id' | 'tool' | 'state'>>('toolCalls.openOfCode', OPEN_OF_CODE, values);
      return rows.map(({ call_id, tool, state }) => ({ callId: call_id, tool, state }));
    },
  };
}

function claimsOf(database: Database, announcer: Announcer) {
  const claimOn = async (hostId: string | null, callId: string, hash: string, events: NewEvent[] = []): Promise<ClaimResult | undefined> => {
    const claimed = await claim(database, [callId, hash, eventsText(events), hostId]);
    if (claimed?.outcome === 'claimed' && events.length > 0) announcer.announce(claimed.call.conversationId);
    return claimed;
  };
  /** Without a host, no call is elsewhere. */
  const claimAnywhere = async (callId: string, hash: string, events: NewEvent[] = []): Promise<ClaimResult> =>
    (await claimOn(null, callId, hash, events)) ?? { outcome: 'missing' };
  return { claimOn, claimAnywhere };
}

function methodValues(call: NewMethodCall, events: NewEvent[], storageLimit: number | undefined) {
  const { callId, conversationId, turnId, stepId, number, tool, hash, parentCallId } = call;
  const stored = [callId, conversationId, turnId, stepId, number, tool, toJsonText(call.arguments), hash, parentCallId, eventsText(events)];
  return [...stored, storageLimit ?? null, ...placeValues(call.from)];
}

function resultValues(result: CallResult) {
  const { state, content, isError, value } = result;
  return [state, toJsonText(content), isError, value === undefined ? null : toJsonText({ value }), isOfValue(result)];
}

function placeValues(from: SandboxPlace | undefined) {
  return [from?.sandboxId ?? null, from?.fence ?? null];
}

/** Tells a call that is refused because of its container from one that exists, or for which there is no room. */
async function refuseSuperseded(database: Database, from: SandboxPlace | undefined): Promise<void> {
  if (!from) return;
  const [found] = await database.query<{ counts: boolean }>('toolCalls.counts', COUNTS, placeValues(from));
  if (found?.counts === false) throw failure('SANDBOX_SUPERSEDED', { sandboxId: from.sandboxId, problem: 'the sandbox has other files now' });
}

function isOfValue({ content, value }: CallResult): boolean {
  const [part, ...more] = content;
  return value !== undefined && part?.type === 'text' && more.length === 0 && part.text === textOfValue(value);
}

function contentOf({ content, value }: Row): Pick<ToolCallRow, 'content'> {
  if (content !== null) return { content };
  return value === null ? {} : { content: [{ type: 'text', text: textOfValue(value.value) }] };
}

function textOfValue(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

async function claim(database: Database, values: [callId: string, hash: string, events: string, hostId: string | null]): Promise<ClaimResult | undefined> {
  for (;;) {
    const [found] = await database.query<Row & { claimed: boolean; elsewhere: boolean; age_ms: number }>('toolCalls.claim', CLAIM, values);
    if (!found) return { outcome: 'missing' };
    const call = toCall(found);
    if (found.claimed) return claimedCall(call, found.age_ms);
    if (call.hash !== values[1]) return { outcome: 'mismatch', call };
    if (call.state !== 'proposed' && call.state !== 'running') return { outcome: 'settled', call };
    if (found.elsewhere) return undefined;
    // The call was settled or edited while the claim waited for the row's lock, and this read returned the old row. The next read sees the new one.
  }
}

function claimedCall(call: ToolCallRow, ageMs: number): ClaimResult {
  return { outcome: 'claimed', fence: call.fence, attempt: call.fence, call, begunAt: performance.now() - ageMs };
}

function toCall(row: Row): ToolCallRow {
  return {
    callId: row.call_id,
    conversationId: row.conversation_id,
    turnId: row.turn_id,
    stepId: row.step_id,
    tool: row.tool,
    arguments: row.arguments,
    hash: row.hash,
    state: row.state,
    fence: row.fence,
    ...contentOf(row),
    isError: row.is_error,
    requestedAt: row.requested_at.toISOString(),
    ...(row.started_at !== null && { startedAt: row.started_at.toISOString() }),
    ...(row.finished_at !== null && { finishedAt: row.finished_at.toISOString() }),
    ...(row.parent_call_id !== null && { parentCallId: row.parent_call_id }),
    ...(row.value !== null && { value: row.value.value }),
  };
}

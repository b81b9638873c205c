import type { JsonObject, Json } from '../../contracts/json.ts';
import type { Database } from '../database/database.ts';
import { toJsonText } from '../database/json-text.ts';

export interface NewClientCall {
  callId: string;
  name: string;
  output?: JsonObject | undefined;
  /** 0: it waits without limit. */
  timeoutMs: number;
}

export interface ClientCallRow {
  callId: string;
  conversationId: string;
  name: string;
  /** Those that the call runs with. */
  arguments: JsonObject;
  output?: JsonObject;
  /** `answered`: a worker has not taken the result yet. `ended`: it has, or no result is taken any more. */
  state: 'waiting' | 'answered' | 'ended';
  askedAt: Date;
  deadline?: Date;
  /** Milliseconds until the deadline, by the clock of the database. */
  leftMs?: number;
  holder?: string;
  heldUntil?: Date;
  /** The holder's time has not passed. */
  isHeld: boolean;
  /** A client may take it, or give its result. */
  isOpen: boolean;
  /** How often a client has taken the call. */
  claims: number;
  /** Of what a client has given. */
  digest?: Buffer;
  isError: boolean;
  result?: Json;
}

/** Calls of tools that clients run. Each change is a compare-and-set, by the clock of the database. */
export interface ClientCallRows {
  /** Makes the row of a call that runs, or returns the existing one. Undefined for a call that does not run. */
  open(call: NewClientCall): Promise<ClientCallRow | undefined>;
  get(conversationId: string, callId: string): Promise<ClientCallRow | undefined>;
  /** The calls of a conversation that clients may take, oldest first, and the number of its last event then. Undefined for an unknown conversation. */
  waiting(conversationId: string): Promise<{ calls: ClientCallRow[]; seq: number } | undefined>;
  /** Gives the call to a client for a time, or for longer to the client that has it. False when another has it, or when it is not open. */
  claim(callId: string, holder: string, leaseMs: number): Promise<boolean>;
  /** Takes the call from the client, if it has it, so that another can take it. */
  release(callId: string, holder: string): Promise<true>;
  /** Stores a result, if the call is open and no other client has it. */
  answer(callId: string, holder: string | undefined, given: { result: Json; isError: boolean; digest: Buffer }): Promise<boolean>;
  /** Takes no result any more if the deadline has passed. False when it has not, or when a result was given before. */
  expire(callId: string): Promise<boolean>;
  /** Takes no result any more. Returns how often a client has taken the call, and a result that was given and is still kept. */
  end(callId: string): Promise<{ claims: number; answer?: { result: Json; isError: boolean } } | undefined>;
  /** The same; what was given is kept no longer, since the call has its result. */
  forget(callId: string): Promise<void>;
}

const COLUMNS = `c.call_id, c.conversation_id, c.name, t.arguments, c.output, c.state, c.asked_at, c.deadline_at, c.holder, c.held_until, c.claims, c.result_sha256,
  c.is_error, c.result, extract(epoch from c.deadline_at - clock_timestamp())::float8 * 1000 as left_ms, c.held_until > clock_timestamp() as held,
  (c.state = 'waiting' and t.state = 'running' and v.state <> 'closed' and (c.deadline_at is null or c.deadline_at > clock_timestamp())) as open`;
const FROM = 'client_calls c join tool_calls t using (call_id) join conversations v on v.conversation_id = c.conversation_id';

const OPEN = `insert into client_calls (call_id, conversation_id, name, output, deadline_at)
  select call_id, conversation_id, $2, $3::json, case when $4::float8 > 0 then clock_timestamp() + $4::float8 * interval '1 millisecond' end
  from tool_calls where call_id = $1 and state = 'running' on conflict do nothing`;
const FIND = `select ${COLUMNS} from ${FROM} where c.call_id = $1`;
const GET = `select ${COLUMNS} from ${FROM} where c.call_id = $1 and c.conversation_id = $2`;
const WAITING = `select v.event_seq as seq, found.* from conversations v left join lateral (
    select ${COLUMNS} from client_calls c join tool_calls t using (call_id) where c.conversation_id = v.conversation_id and c.state = 'waiting'
  ) found on found.open where v.conversation_id = $1 order by found.asked_at, found.call_id`;

/** Whether a client may change the row. */
const IS_OPEN = `c.call_id = $1 and c.state = 'waiting' and (c.deadline_at is null or c.deadline_at > clock_timestamp())
  and exists (select from tool_calls t where t.call_id = c.call_id and t.state = 'running')
  and exists (select from conversations v where v.conversation_id = c.conversation_id and v.state <> 'closed')`;
const IS_FREE = '(c.holder is null or c.holder = $2 or c.held_until <= clock_timestamp())';
const CLAIM = `update client_calls c set claims = claims + case when holder is distinct from $2 then 1 else 0 end, holder = $2,
    held_until = clock_timestamp() + $3::float8 * interval '1 millisecond'
  where ${IS_OPEN} and ${IS_FREE} returning 1`;
const RELEASE = `update client_calls set holder = null, held_until = null where call_id = $1 and holder = $2 and state = 'waiting'`;
const ANSWER = `update client_calls c set state = 'answered', result = $3::json, is_error = $4, result_sha256 = $5
  where ${IS_OPEN} and ${IS_FREE} returning 1`;
const EXPIRE = `update client_calls set state = 'ended' where call_id = $1 and state = 'waiting' and deadline_at <= clock_timestamp() returning 1`;
const END = `update client_calls set state = 'ended' where call_id = $1 returning claims, result, is_error, result is not null as given`;
const FORGET = `update client_calls set state = 'ended', result = null where call_id = $1`;

interface Row {
  call_id: string;
  conversation_id: string;
  name: string;
  arguments: JsonObject;
  output: JsonObject | null;
  state: ClientCallRow['state'];
  asked_at: Date;
  deadline_at: Date | null;
  left_ms: number | null;
  holder: string | null;
  held_until: Date | null;
  held: boolean | null;
  open: boolean;
  claims: number;
  result_sha256: Buffer | null;
  is_error: boolean;
  result: Json;
}

export function createClientCalls({ database }: { database: Database }): ClientCallRows {
  return {
    async open({ callId, name, output, timeoutMs }) {
      await database.query('clientCalls.open', OPEN, [callId, name, output === undefined ? null : toJsonText(output), timeoutMs]);
      return (await database.query<Row>('clientCalls.find', FIND, [callId])).map(toCall)[0];
    },
    async get(conversationId, callId) {
      return (await database.query<Row>('clientCalls.get', GET, [callId, conversationId])).map(toCall)[0];
    },
    async waiting(conversationId) {
      const rows = await database.query<{ seq: number; call_id: string | null }>('clientCalls.waiting', WAITING, [conversationId]);
      const [first] = rows;
      return first && { seq: first.seq, calls: rows.filter(({ call_id: id }) => id !== null).map((row) => toCall(row as unknown as Row)) };
    },
    claim: async (callId, holder, leaseMs) => (await database.query('clientCalls.claim', CLAIM, [callId, holder, leaseMs])).length > 0,
    async release(callId, holder) {
      await database.query('clientCalls.release', RELEASE, [callId, holder]);
      return true;
    },
    async answer(callId, holder, { result, isError, digest }) {
      return (await database.query('clientCalls.answer', ANSWER, [callId, holder ?? null, toJsonText(result), isError, digest])).length > 0;
    },
    expire: async (callId) => (await database.query('clientCalls.expire', EXPIRE, [callId])).length > 0,
    async end(callId) {
      const [row] = await database.query<Pick<Row, 'claims' | 'result' | 'is_error'> & { given: boolean }>('clientCalls.end', END, [callId]);
      return row && { claims: row.claims, ...(row.given && { answer: { result: row.result, isError: row.is_error } }) };
    },
    async forget(callId) {
      await database.query('clientCalls.forget', FORGET, [callId]);
    },
  };
}

function toCall(row: Row): ClientCallRow {
  return {
    callId: row.call_id,
    conversationId: row.conversation_id,
    name: row.name,
    arguments: row.arguments,
    ...(row.output !== null && { output: row.output }),
    state: row.state,
    askedAt: row.asked_at,
    ...(row.deadline_at !== null && { deadline: row.deadline_at }),
    ...(row.left_ms !== null && { leftMs: row.left_ms }),
    ...(row.holder !== null && { holder: row.holder }),
    ...(row.held_until !== null && { heldUntil: row.held_until }),
    isHeld: row.held === true,
    isOpen: row.open,
    claims: row.claims,
    ...(row.result_sha256 !== null && { digest: row.result_sha256 }),
    isError: row.is_error,
    ...(row.state === 'answered' && { result: row.result }),
  };
}

import { createHash } from 'node:crypto';
import type { JsonObject } from '../../contracts/json.ts';
import type { Database } from '../database/database.ts';
import type { SecretBox } from '../service/secret-box.ts';
import { createClientRows, type ClientRows } from './clients.ts';
import { createSealedJson, type SealedJson } from './sealed-json.ts';
import { createTokenRows, type TokenPlace, type TokenRows } from './tokens.ts';

/** A call that waits until its user has signed in. */
export interface SignIn extends TokenPlace {
  signInId: string;
  url: string;
  issuer: string;
  conversationId: string;
  callId: string;
  /** Secret of the link that the person opens. */
  link: string;
  /** All that is needed to exchange a code. Stored encrypted. */
  secret: JsonObject;
  expiresAt: Date;
  isDone: boolean;
  /** The call was made again after it. */
  isResumed: boolean;
}

export type NewSignIn = Omit<SignIn, 'expiresAt' | 'isDone' | 'isResumed'> & { ttlMs: number };

/** One way of a browser to the authorization server and back. */
export interface Way {
  state: string;
  /** The cookie of the browser. */
  browser: string;
  verifier: string;
  /** The client as which it goes there. Stored encrypted. */
  client?: JsonObject;
  ttlMs: number;
}

export interface SignInRows {
  tokens: TokenRows;
  clients: ClientRows;
  /** Adds it, and removes those that ended long ago. */
  add(signIn: NewSignIn): Promise<SignIn>;
  /** The newest one of a call. */
  ofCall(callId: string): Promise<SignIn | undefined>;
  /** One that is open; undefined when it has ended, or was never there. */
  byLink(link: string): Promise<SignIn | undefined>;
  /** Remembers a way of a browser in place of the one before. */
  setOut(signInId: string, way: Way): Promise<void>;
  /** Takes the one use of a state; undefined unless it is open and comes back with the same browser. */
  comeBack(state: string, browser: string): Promise<{ signIn: SignIn; verifier: string; client?: JsonObject } | undefined>;
  /** Ends all that wait for the same, and returns them. */
  finish(place: TokenPlace & { url: string }): Promise<SignIn[]>;
  isDone(signInId: string): Promise<boolean>;
  /** No call waits for it any more: its link ends. */
  end(signInId: string): Promise<void>;
  /** Notes that the call is made again from now on. */
  resume(signInId: string): Promise<void>;
}

interface Row extends Omit<SignIn, 'link' | 'secret'> {
  sealed: string;
}

const COLUMNS = `sign_in_id as "signInId", tenant_id as "tenantId", user_id as "userId", server, url, issuer, conversation_id as "conversationId",
  call_id as "callId", sealed, expires_at as "expiresAt", done_at is not null as "isDone", resumed_at is not null as "isResumed"`;
const OPEN = 'done_at is null and expires_at > clock_timestamp()';
const LATER = (value: string) => `clock_timestamp() + ${value}::float8 * interval '1 millisecond'`;

const ADD = `with forgotten as (delete from mcp_sign_ins where expires_at < clock_timestamp() - interval '7 days')
  insert into mcp_sign_ins (sign_in_id, tenant_id, user_id, server, url, issuer, conversation_id, call_id, link_sha256, sealed, expires_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, ${LATER('$11')}) returning ${COLUMNS}`;
const OF_CALL = `select ${COLUMNS} from mcp_sign_ins where call_id = $1 order by expires_at desc limit 1`;
const BY_LINK = `select ${COLUMNS} from mcp_sign_ins where link_sha256 = $1 and ${OPEN}`;
const SET_OUT = `update mcp_sign_ins set state_sha256 = $2, browser_sha256 = $3, verifier = $4, state_expires_at = ${LATER('$5')} where sign_in_id = $1 and ${OPEN}`;
/** The state is used up, whether or not the browser is the right one's: what has leaked is of no use to a second try. */
const COME_BACK = `with given as (
    select sign_in_id, verifier, browser_sha256 = $2 and state_expires_at > clock_timestamp() as fits from mcp_sign_ins where state_sha256 = $1 and ${OPEN} for update
  ), used as (
    update mcp_sign_ins s set state_sha256 = null, browser_sha256 = null, verifier = null, state_expires_at = null from given
    where s.sign_in_id = given.sign_in_id
  )
  select ${COLUMNS.replace('sign_in_id as', 's.sign_in_id as')}, given.verifier as "givenVerifier" from given join mcp_sign_ins s on s.sign_in_id = given.sign_in_id where given.fits`;
const FINISH = `update mcp_sign_ins set done_at = clock_timestamp(), state_sha256 = null, browser_sha256 = null, verifier = null, state_expires_at = null
  where tenant_id = $1 and user_id = $2 and server = $3 and url = $4 and ${OPEN} returning ${COLUMNS}`;
const IS_DONE = 'select 1 from mcp_sign_ins where sign_in_id = $1 and done_at is not null';
const END = 'update mcp_sign_ins set expires_at = clock_timestamp() where sign_in_id = $1 and done_at is null';
const RESUME = 'update mcp_sign_ins set resumed_at = clock_timestamp() where sign_in_id = $1';

export function createSignIns({ database, box }: { database: Database; box: SecretBox }): SignInRows {
  const sealed = createSealedJson(box);
  const one = async (name: string, sql: string, values: (string | Buffer)[]) => {
    const [row] = await database.query<Row>(name, sql, values);
    return row && opened(row, sealed);
  };
  return {
    tokens: createTokenRows({ database, sealed }),
    clients: createClientRows({ database, sealed }),
    async add({ signInId, tenantId, userId, server, url, issuer, conversationId, callId, link, secret, ttlMs }) {
      const kept = sealed.seal({ link, secret }, boundTo(signInId));
      const values = [signInId, tenantId, userId, server, url, issuer, conversationId, callId, sha256(link), kept, ttlMs];
      const [row] = await database.query<Row>('signIns.add', ADD, values);
      return opened(row as Row, sealed);
    },
    ofCall: (callId) => one('signIns.ofCall', OF_CALL, [callId]),
    byLink: (link) => one('signIns.byLink', BY_LINK, [sha256(link)]),
    async setOut(signInId, { state, browser, verifier, client, ttlMs }) {
      const kept = sealed.seal({ verifier, ...(client && { client }) }, ['verifier', signInId]);
      await database.query('signIns.setOut', SET_OUT, [signInId, sha256(state), sha256(browser), kept, ttlMs]);
    },
    async comeBack(state, browser) {
      const [row] = await database.query<Row & { givenVerifier: string }>('signIns.comeBack', COME_BACK, [sha256(state), sha256(browser)]);
      if (!row) return undefined;
      const { givenVerifier, ...rest } = row;
      const way = sealed.open(givenVerifier, ['verifier', row.signInId]) as { verifier: string; client?: JsonObject };
      return { signIn: opened(rest, sealed), ...way };
    },
    async finish({ tenantId, userId, server, url }) {
      const rows = await database.query<Row>('signIns.finish', FINISH, [tenantId, userId, server, url]);
      return rows.map((row) => opened(row, sealed));
    },
    isDone: async (signInId) => (await database.query('signIns.isDone', IS_DONE, [signInId])).length > 0,
    async end(signInId) {
      await database.query('signIns.end', END, [signInId]);
    },
    async resume(signInId) {
      await database.query('signIns.resume', RESUME, [signInId]);
    },
  };
}

function opened({ sealed: text, ...row }: Row, sealed: SealedJson): SignIn {
  const { link, secret } = sealed.open(text, boundTo(row.signInId)) as { link: string; secret: JsonObject };
  return { ...row, link, secret };
}

function boundTo(signInId: string): string[] {
  return ['sign-in', signInId];
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

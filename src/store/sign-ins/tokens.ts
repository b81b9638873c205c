import { abortAfter } from '../../common/abort-after.ts';
import { pause } from '../../common/pause.ts';
import { createSlots } from '../../common/slots.ts';
import type { JsonObject } from '../../contracts/json.ts';
import { isPostgresAway } from '../database/database-failures.ts';
import type { Database } from '../database/database.ts';
import type { SealedJson } from './sealed-json.ts';

/** A user of a tenant at a server. */
export interface TokenPlace {
  tenantId: string;
  userId: string;
  server: string;
}

export interface NewTokens {
  /** Address of the server that they were issued for. */
  url: string;
  issuer: string;
  /** Empty when it is not known. */
  scope: string;
  /** The tokens, and the client that they were issued to. Stored encrypted. */
  secret: JsonObject;
}

export interface KeptTokens extends NewTokens {
  version: string;
}

/** That a user is signed in, without the tokens. */
export interface SignedIn extends TokenPlace {
  url: string;
  issuer: string;
  scope: string;
  signedInAt: Date;
  renewedAt: Date;
}

export interface TokenRows {
  get(place: TokenPlace): Promise<KeptTokens | undefined>;
  /** After a sign-in: replaces what there was. */
  put(place: TokenPlace, tokens: NewTokens): Promise<void>;
  /**
   * Replaces that version; false when it is there no more: the user has signed in anew or signed out, or an earlier try has replaced it and its answer was lost. Tried
   * again for some seconds while the database is away: a token that renews others is often good for one use, so the version before is of no use any more.
   */
  renew(place: TokenPlace, version: string, tokens: Pick<NewTokens, 'scope' | 'secret'>): Promise<boolean>;
  /** Removes them, or only that version. True when there were any. */
  remove(place: TokenPlace, version?: string): Promise<boolean>;
  /** Those of a tenant, of a user, at a server, as far as they are given. */
  list(filter: Partial<TokenPlace>): Promise<SignedIn[]>;
  /** Does work for a place while no other process does: for 10 seconds at most. @throws an Error when work for others has not ended in time */
  inTurn<Result>(place: TokenPlace, work: () => Promise<Result>): Promise<Result>;
}

const RENEW_AGAIN_MS = [100, 300, 1_000, 2_000, 4_000];
/** Such work waits for servers of others, and has a connection for locks meanwhile, of which a process has four. Sandboxes need them, too. */
const AT_ONCE = 2;
const PATIENCE_MS = 30_000;
const OTHERS_WAIT = 'renewals of other sign-ins wait for servers that do not answer. Try again later';
const AT = 'tenant_id = $1 and user_id = $2 and server = $3';
const GET = `select url, issuer, scope, sealed, version from mcp_tokens where ${AT}`;
const PUT = `insert into mcp_tokens (tenant_id, user_id, server, url, issuer, scope, sealed) values ($1, $2, $3, $4, $5, $6, $7)
  on conflict (tenant_id, user_id, server) do update set url = excluded.url, issuer = excluded.issuer, scope = excluded.scope, sealed = excluded.sealed,
    version = excluded.version, signed_in_at = excluded.signed_in_at, renewed_at = excluded.renewed_at`;
const RENEW = `update mcp_tokens set scope = $5, sealed = $6, version = gen_random_uuid()::text, renewed_at = clock_timestamp()
  where ${AT} and version = $4 returning 1`;
const REMOVE = `delete from mcp_tokens where ${AT} and ($4::text is null or version = $4) returning 1`;
const LIST = `select tenant_id as "tenantId", user_id as "userId", server, url, issuer, scope, signed_in_at as "signedInAt", renewed_at as "renewedAt"
  from mcp_tokens where ($1::text is null or tenant_id = $1) and ($2::text is null or user_id = $2) and ($3::text is null or server = $3)
  order by tenant_id, user_id, server`;

interface Parts {
  database: Database;
  sealed: SealedJson;
  /** How long work waits for work for others, in milliseconds. */
  patienceMs?: number;
}

export function createTokenRows({ database, sealed, patienceMs = PATIENCE_MS }: Parts): TokenRows {
  const at = ({ tenantId, userId, server }: TokenPlace) => [tenantId, userId, server];
  const boundTo = (place: TokenPlace) => ['tokens', ...at(place)];
  const slots = createSlots(AT_ONCE);
  return {
    async get(place) {
      const [row] = await database.query<Omit<KeptTokens, 'secret'> & { sealed: string }>('tokens.get', GET, at(place));
      if (!row) return undefined;
      const { sealed: text, ...rest } = row;
      return { ...rest, secret: sealed.open(text, boundTo(place)) };
    },
    async put(place, { url, issuer, scope, secret }) {
      await database.query('tokens.put', PUT, [...at(place), url, issuer, scope, sealed.seal(secret, boundTo(place))]);
    },
    async renew(place, version, { scope, secret }) {
      const values = [...at(place), version, scope, sealed.seal(secret, boundTo(place))];
      return unlessAway(async () => (await database.query('tokens.renew', RENEW, values)).length > 0);
    },
    remove: async (place, version) => (await database.query('tokens.remove', REMOVE, [...at(place), version ?? null])).length > 0,
    list: ({ tenantId, userId, server }) => database.query<SignedIn>('tokens.list', LIST, [tenantId ?? null, userId ?? null, server ?? null]),
    async inTurn(place, work) {
      const giveBack = await slots.take(abortAfter(patienceMs)).catch(() => {
        throw new Error(`the sign-in at ${place.server} cannot be renewed now: ${OTHERS_WAIT}`);
      });
      return database.withLock(`mcp tokens ${JSON.stringify(at(place))}`, 'alone', work).finally(giveBack);
    },
  };
}

async function unlessAway<Result>(statement: () => Promise<Result>): Promise<Result> {
  for (const delay of RENEW_AGAIN_MS) {
    try {
      return await statement();
    } catch (error) {
      if (!isPostgresAway(error)) throw error;
      await pause(delay);
    }
  }
  return statement();
}

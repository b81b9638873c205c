import type { JsonObject } from '../../contracts/json.ts';
import type { Database } from '../database/database.ts';
import type { SealedJson } from './sealed-json.ts';

/** A registration at an authorization server: for a server of a tenant, and for the address to which people come back. */
export interface ClientPlace {
  tenantId: string;
  server: string;
  issuer: string;
  redirectUri: string;
}

export interface ClientRows {
  get(place: ClientPlace): Promise<JsonObject | undefined>;
  put(place: ClientPlace, client: JsonObject): Promise<void>;
  remove(place: ClientPlace): Promise<void>;
}

const AT = 'tenant_id = $1 and server = $2 and issuer = $3 and redirect_uri = $4';
const GET = `select sealed from mcp_clients where ${AT}`;
const PUT = `insert into mcp_clients (tenant_id, server, issuer, redirect_uri, sealed) values ($1, $2, $3, $4, $5)
  on conflict (tenant_id, server, issuer, redirect_uri) do update set sealed = excluded.sealed, registered_at = excluded.registered_at`;
const REMOVE = `delete from mcp_clients where ${AT}`;

export function createClientRows({ database, sealed }: { database: Database; sealed: SealedJson }): ClientRows {
  const at = ({ tenantId, server, issuer, redirectUri }: ClientPlace) => [tenantId, server, issuer, redirectUri];
  const boundTo = (place: ClientPlace) => ['client', ...at(place)];
  return {
    async get(place) {
      const [row] = await database.query<{ sealed: string }>('clients.get', GET, at(place));
      return row && sealed.open(row.sealed, boundTo(place));
    },
    async put(place, client) {
      await database.query('clients.put', PUT, [...at(place), sealed.seal(client, boundTo(place))]);
    },
    async remove(place) {
      await database.query('clients.remove', REMOVE, at(place));
    },
  };
}

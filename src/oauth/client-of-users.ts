import {
  OAuthError,
  OAuthErrorCode,
  registerClient,
  type FetchLike,
  type OAuthClientInformationMixed,
  type OAuthClientMetadata,
} from '@modelcontextprotocol/client';
import { isFailure } from '../contracts/errors.ts';
import type { JsonObject } from '../contracts/json.ts';
import type { ClientPlace } from '../store/sign-ins/clients.ts';
import type { SignInRows } from '../store/sign-ins/sign-ins.ts';
import type { Authorization } from './find-authorization.ts';
import type { ProtectedServer } from './server.ts';

/** Paths of the HTTP service. */
export const PATHS = { signIn: '/oauth/sign-in', callback: '/oauth/callback', client: '/oauth/client.json' } as const;

/** What Longshore says of itself to authorization servers. */
export function clientMetadata(publicUrl: string): OAuthClientMetadata {
  return {
    client_name: 'Longshore',
    redirect_uris: [`${publicUrl}${PATHS.callback}`],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    // Authorization servers refuse other redirect addresses of either kind.
    application_type: publicUrl.startsWith('https:') ? 'web' : 'native',
  };
}

/** The address of that document, which is an id at authorization servers that read it; they do over https. */
export function clientDocumentUrl(publicUrl: string): string | undefined {
  return publicUrl.startsWith('https:') ? `${publicUrl}${PATHS.client}` : undefined;
}

interface Parts {
  server: ProtectedServer;
  tenantId: string;
  /** Where people reach the HTTP service. */
  publicUrl: string;
  authorization: Authorization;
  scope: string | undefined;
  rows: SignInRows['clients'];
  fetchFn: FetchLike;
}

/**
 * The client for which users sign in: what the operator has registered, else the document of the HTTP service, else what is registered now, once for a tenant.
 * @throws an Error of the authorization server
 */
export async function clientOfUsers({ server, tenantId, publicUrl, authorization, scope, rows, fetchFn }: Parts): Promise<OAuthClientInformationMixed> {
  const { authorizationServerUrl: issuer, authorizationServerMetadata: metadata } = authorization;
  if (server.client) return { client_id: server.client.id, ...(server.client.secret !== undefined && { client_secret: server.client.secret }) };
  const documentUrl = clientDocumentUrl(publicUrl);
  if (metadata?.client_id_metadata_document_supported === true && documentUrl !== undefined) return { client_id: documentUrl };
  const said = clientMetadata(publicUrl);
  const place = placeOfClient({ server, tenantId, publicUrl, issuer });
  const known = (await rows.get(place).catch(unlessUnreadable)) as OAuthClientInformationMixed | undefined;
  if (known && !isOver(known)) return known;
  const made = await registerClient(issuer, { clientMetadata: said, fetchFn, ...(metadata && { metadata }), ...(scope !== undefined && { scope }) });
  await rows.put(place, made as unknown as JsonObject);
  return made;
}

/** A registration whose key is lost is replaced by another one. */
function unlessUnreadable(error: unknown): undefined {
  if (!isFailure(error, 'ENCRYPTION_KEY_UNKNOWN') && !isFailure(error, 'SECRET_UNREADABLE')) throw error;
}

/** Where a registration is kept. */
export function placeOfClient({
  server,
  tenantId,
  publicUrl,
  issuer,
}: Pick<Parts, 'tenantId' | 'publicUrl'> & { server: Pick<ProtectedServer, 'name'>; issuer: string }): ClientPlace {
  return { tenantId, server: server.name, issuer, redirectUri: `${publicUrl}${PATHS.callback}` };
}

const OF_CLIENT = new Set<string>([OAuthErrorCode.InvalidClient, OAuthErrorCode.UnauthorizedClient]);

/** Whether an authorization server does not know the client any more: it has to be registered again. */
export function isOfClient(error: unknown): boolean {
  return error instanceof OAuthError && OF_CLIENT.has(error.code);
}

/** The secret of a registration may end. */
function isOver(client: OAuthClientInformationMixed): boolean {
  const { client_secret_expires_at: endsAt = 0 } = client as { client_secret_expires_at?: number };
  return endsAt > 0 && endsAt * 1000 < Date.now() + 60_000;
}

import { failure } from '../../contracts/errors.ts';
import { showValue } from '../../common/show-value.ts';
import { isMadeId, type IdPrefix } from '../../contracts/ids.ts';
import type { Caller } from '../auth/caller.ts';
import { derivedId } from '../../platform/derived-id.ts';
import type { RouteParts } from './route-parts.ts';

/** Ids that are the same for each repetition of a request: what it makes exists once. */
export interface RepeatableIds {
  key: string;
  id(prefix: IdPrefix): string;
}

const KEY = /^[\x21-\x7e]{1,255}$/;

/**
 * Ids made of the installation, the caller's tenant and user, the place (such as a conversation) and the request's `Idempotency-Key`. Undefined without
 * that header.
 * @throws INVALID_ARGUMENT for a key that cannot be used
 */
export function repeatableIds(
  { client: { taskQueue } }: Pick<RouteParts, 'client'>,
  { tenantId, userId }: Caller,
  headers: Record<string, unknown>,
  place: string,
): RepeatableIds | undefined {
  const key = idempotencyKeyOf(headers);
  if (key === undefined) return undefined;
  return { key, id: (prefix) => derivedId(prefix, [taskQueue, tenantId ?? null, place, key, ...(userId === undefined ? [] : [userId])]) };
}

/** @throws INVALID_ARGUMENT for a key that cannot be used */
export function idempotencyKeyOf({ 'idempotency-key': key }: Record<string, unknown>): string | undefined {
  if (key === undefined || (typeof key === 'string' && KEY.test(key))) return key;
  throw failure('INVALID_ARGUMENT', { what: 'Idempotency-Key', problem: 'it cannot be used', fix: 'Send 1 to 255 visible ASCII characters' });
}

/**
 * Ids that are made of a tenant, a chat and an `Idempotency-Key` can be guessed: who took one beforehand would keep another tenant from having it.
 * @throws INVALID_ARGUMENT for an id of such a form that no conversation of the tenant has
 */
export async function refuseMadeId({ store }: Pick<RouteParts, 'store'>, { tenantId }: Caller, id: string | undefined): Promise<void> {
  if (tenantId === undefined || id === undefined || !isMadeId('conv', id) || (await store.conversations.get(id))) return;
  throw failure('INVALID_ARGUMENT', {
    what: 'body.conversationId',
    problem: `${showValue(id)} has the form of ids that the service makes`,
    fix: 'Choose another, or leave it out',
  });
}

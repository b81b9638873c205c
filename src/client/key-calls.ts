import type { ApiKey } from '../contracts/api-key.ts';
import { failure } from '../contracts/errors.ts';
import { parseDuration } from '../common/duration.ts';
import type { Store } from '../store/store.ts';
import { keyOptions, nameOf } from './client-arguments.ts';
import { makeKeyText, sha256Of } from './key-text.ts';
import type { Keys } from './types.ts';

/** The keys of the HTTP service. */
export function createKeyCalls({ apiKeys }: Pick<Store, 'apiKeys'>): Keys {
  return {
    async create(options) {
      const { name, scopes, tenant, expiresIn } = keyOptions(options);
      const { keyId, secret, text } = makeKeyText();
      const ttlMs = typeof expiresIn === 'string' ? parseDuration(expiresIn) : expiresIn;
      const key = await apiKeys.create({
        keyId,
        name,
        scopes,
        secretSha256: sha256Of(secret),
        ...(tenant !== undefined && { tenantId: tenant }),
        ...(ttlMs !== undefined && { ttlMs }),
      });
      return { ...key, text };
    },
    list: async (tenant) => apiKeys.list(tenant === undefined ? undefined : nameOf('tenant', tenant)),
    async revoke(keyId): Promise<ApiKey> {
      const id = nameOf('keyId', keyId);
      const key = await apiKeys.revoke(id);
      if (!key) throw failure('KEY_NOT_FOUND', { keyId: id });
      return key;
    },
  };
}

import type { ApiKey } from '../contracts/api-key.ts';
import type { AuditSource } from '../contracts/audit.ts';
import { failure } from '../contracts/errors.ts';
import { withoutUndefined } from '../common/without-undefined.ts';
import type { Store } from '../store/store.ts';
import { keyOptions, nameOf, rotationOptions } from './client-arguments.ts';
import { makeKeyText, sha256Of } from './key-text.ts';
import type { Keys } from './types/installation-types.ts';

const DEFAULT_OVERLAP_MS = 86_400_000;

/** The keys of the HTTP service. */
export function createKeyCalls({ apiKeys }: Pick<Store, 'apiKeys'>, by: AuditSource): Keys {
  return {
    async create(options) {
      const { name, scopes, tenant, expiresIn: ttlMs } = keyOptions(options);
      const { keyId, secret, text } = makeKeyText();
      const facts = withoutUndefined({ keyId, name, scopes, secretSha256: sha256Of(secret), tenantId: tenant, ttlMs });
      const key = await apiKeys.create(facts, by);
      return { ...key, text };
    },
    async rotate(keyId, options) {
      const id = nameOf('keyId', keyId);
      const { overlap = DEFAULT_OVERLAP_MS, tenant } = rotationOptions(options);
      const { keyId: newId, secret, text } = makeKeyText();
      const key = await apiKeys.rotate(id, { keyId: newId, secretSha256: sha256Of(secret), overlapMs: overlap }, by, tenant);
      if (!key) throw failure('KEY_NOT_FOUND', { keyId: id });
      return { ...key, text };
    },
    list: async (tenant) => apiKeys.list(tenant === undefined ? undefined : nameOf('tenant', tenant)),
    async revoke(keyId): Promise<ApiKey> {
      const id = nameOf('keyId', keyId);
      const key = await apiKeys.revoke(id, by);
      if (!key) throw failure('KEY_NOT_FOUND', { keyId: id });
      return key;
    },
  };
}

import { keyIdOfToken, userOfTokenId } from '../contracts/api-key.ts';
import type { AuditSource } from '../contracts/audit.ts';
import { failure } from '../contracts/errors.ts';
import type { Store } from '../store/store.ts';
import { limitOptions } from './client-arguments.ts';
import type { TenantLimits } from './types/installation-types.ts';

export function createLimitCalls({ limits, apiKeys }: Pick<Store, 'limits' | 'apiKeys'>, by: AuditSource): TenantLimits {
  return {
    list: () => limits.list(),
    async set(given) {
      const { tenant, key, ...values } = limitOptions(given);
      if (tenant !== undefined && key === undefined) return limits.set({ tenant }, values, by);
      if (key !== undefined && tenant === undefined) {
        if (values.runningTurns !== undefined) throw refused('runningTurns of a key: a turn belongs to a tenant', 'Name the tenant');
        // Users of tokens have no keys that could be looked up. However the text is written, one text stands for one of them.
        const user = userOfTokenId(key);
        if (user) return limits.set({ key: keyIdOfToken(user.tenantId, user.userId) }, values, by);
        // Limits of a key that is gone can be taken away.
        const isKnown = Object.keys(values).length === 0 || (await apiKeys.find(key)) !== undefined;
        if (!isKnown) throw failure('KEY_NOT_FOUND', { keyId: key });
        return limits.set({ key }, values, by);
      }
      throw refused(`it names ${tenant === undefined ? 'neither a tenant nor a key' : 'a tenant and a key'}`, 'Give one of tenant and key');
    },
  };
}

function refused(problem: string, fix: string): Error {
  return failure('INVALID_ARGUMENT', { what: 'options of limits.set', problem, fix });
}

import type { FastifyRequest } from 'fastify';
import { failure } from '../../contracts/errors.ts';
import type { LimitName } from '../../contracts/limits/limits.ts';
import type { Store } from '../../store/store.ts';
import { leastOf } from './limits-of-caller.ts';

const DAY_MS = 86_400_000;
/** In seconds. When a turn ends, or what was used a day ago no longer counts, is not known. */
const TURNS_END = 10;
const USE_FADES = 600;

/**
 * Whether the caller's tenant may begin another turn. Requests at the same moment are each measured by what there was before them, so that they may exceed a
 * limit together.
 * @throws LIMIT_REACHED
 */
export async function requireRoom(
  { limits, usage }: Pick<Store, 'limits' | 'usage'>,
  { caller, held }: Pick<FastifyRequest, 'caller' | 'held'>,
): Promise<void> {
  const { tenantId } = caller;
  if (tenantId === undefined) return;
  const refuse = async (limit: LimitName, retryAfter: number, measure: () => Promise<number>) => {
    const allowed = leastOf(held, limit);
    if (allowed !== undefined && (await measure()) >= allowed) throw failure('LIMIT_REACHED', { limit, of: 'tenant', allowed, retryAfter });
  };
  await refuse('runningConversations', TURNS_END, () => limits.running(tenantId));
  const used = async () => usage.recent(tenantId, DAY_MS);
  await refuse('tokensPerDay', USE_FADES, async () => {
    const { inputTokens, outputTokens } = await used();
    return inputTokens + outputTokens;
  });
  await refuse('costUsdPerDay', USE_FADES, async () => (await used()).knownCostUsd);
}

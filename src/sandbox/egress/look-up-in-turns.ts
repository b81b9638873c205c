import { isIP } from 'node:net';
import { abortAfter } from '../../common/abort-after.ts';
import { createSlots } from '../../common/slots.ts';
import type { AddressPolicy } from '../../network/address-policy.ts';

/** The process looks up two names at a time for all that it does. A sandbox that asks for many slow names adds no more than this to what others wait for. */
const AT_ONCE = 2;

/**
 * The same policy, for one sandbox: few names are looked up at the same time, and one that is being looked up is not looked up again. A lookup cannot be
 * cancelled, so it counts until it ends; one that has not begun after `patienceMs` never does.
 */
export function lookUpInTurns({ refusalOf, addressesOf }: AddressPolicy, patienceMs: number): AddressPolicy {
  const slots = createSlots(AT_ONCE);
  const running = new Map<string, Promise<string[]>>();
  const inTurn = async (host: string): Promise<string[]> => {
    const giveBack = await slots.take(abortAfter(patienceMs));
    try {
      return await addressesOf(host);
    } finally {
      giveBack();
    }
  };
  return {
    refusalOf,
    addressesOf(host) {
      if (isIP(host) !== 0) return addressesOf(host);
      const found = running.get(host);
      if (found) return found;
      const looking = inTurn(host).finally(() => running.delete(host));
      running.set(host, looking);
      return looking;
    },
  };
}

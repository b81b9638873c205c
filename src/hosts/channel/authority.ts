import { createAuthority, type Certified } from '../../certificates/certificates.ts';
import type { Store } from '../../store/store.ts';

/** As long as the authority: the key of a certificate is only in the memory of its process, and ends with it. */
export const CERTIFICATE_DAYS = 3650;

/** The authority of this installation's workers and services. The first process that asks makes it. */
export function channelAuthority(hosts: Pick<Store['hosts'], 'authority'>): Promise<Certified> {
  return hosts.authority(() => createAuthority('Longshore hosts', new Date()));
}

import { failure } from '../../contracts/errors.ts';
import type { KnownHost } from '../../store/service/fleet.ts';
import type { Store } from '../../store/store.ts';

/** @throws INVALID_ARGUMENT when nothing is known of the host */
export async function findHost({ fleet }: Pick<Store, 'fleet'>, hostId: string, lostAfterMs: number): Promise<KnownHost> {
  const [host] = await fleet.hosts(lostAfterMs, hostId);
  if (!host) throw refuseHost(hostId);
  return host;
}

export function refuseHost(hostId: string): Error {
  return failure('INVALID_ARGUMENT', { what: 'host', problem: `nothing is known of a host "${hostId}"`, fix: 'List the hosts: longshore hosts ls' });
}

export function megabytes(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(0);
}

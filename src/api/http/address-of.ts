import { baseAddress } from '../../common/base-address.ts';
import { failure } from '../../contracts/errors.ts';
import type { RouteParts } from './route-parts.ts';

/** Without LONGSHORE_PUBLIC_URL, the address is the one that the caller has used. */
export function createAddressOf(publicUrl: string | undefined): RouteParts['addressOf'] {
  const known = publicUrl === undefined ? undefined : baseAddress(publicUrl);
  return ({ host }) => {
    const address = known ?? `http://${host}`;
    if (host !== '' && URL.canParse(address)) return address;
    throw failure('INVALID_ARGUMENT', { what: 'Host', problem: 'it names no host', fix: 'Set LONGSHORE_PUBLIC_URL for the service, or send the header Host' });
  };
}

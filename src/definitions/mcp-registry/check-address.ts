import { createAddressPolicy, oddityOfHost, refused } from '../../network/address-policy.ts';

/** Checks that the address of a server is public, or one that an operator allows. @throws NETWORK_REFUSED, NETWORK_FAILED where its name is not known */
export async function checkAddress(url: string, { allowAddresses, setting }: { allowAddresses: string[]; setting: string }): Promise<void> {
  const host = new URL(url).hostname.replace(/^\[(.*)\]$/, '$1');
  const oddity = oddityOfHost(host);
  if (oddity) throw refused(host, `of this host name, ${oddity}`);
  await createAddressPolicy({ allowAddresses, setting }).addressesOf(host);
}

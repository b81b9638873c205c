import type { Place } from './place.ts';

/** What a guest may say of its cookies. Where they are sent is said for it. */
const KEPT = new Set(['expires', 'max-age', 'httponly', 'samesite', 'partitioned']);

/** The cookies of a request that the guest has set, under the names that it gave them. Undefined when there are none. */
export function cookiesForGuest(header: string | undefined, { cookiePrefix }: Pick<Place, 'cookiePrefix'>): string | undefined {
  const own = pairsOf(header).filter((pair) => pair.startsWith(cookiePrefix));
  return own.length === 0 ? undefined : own.map((pair) => pair.slice(cookiePrefix.length)).join('; ');
}

/** The value of a cookie of a request. */
export function cookieOf(header: string | undefined, name: string): string | undefined {
  return pairsOf(header)
    .find((pair) => pair.startsWith(`${name}=`))
    ?.slice(name.length + 1);
}

/** A cookie that the guest sets, as one that comes back to this guest alone. Undefined for one without a name. */
export function cookieOfGuest(header: string, { prefix, cookiePrefix, isSecure }: Place): string | undefined {
  const [pair = '', ...attributes] = pairsOf(header);
  if (pair.indexOf('=') < 1) return undefined;
  const nameOf = (attribute: string) => (attribute.split('=', 1)[0] ?? '').trim().toLowerCase();
  const ownPath = attributes.find((attribute) => nameOf(attribute) === 'path')?.replace(/^[^=]*=\s*/, '') ?? '';
  // A cookie for a host alone has no other path than "/".
  const path = prefix !== '' && ownPath.startsWith('/') ? prefix + ownPath : `${prefix}/`;
  return [`${cookiePrefix}${pair}`, ...attributes.filter((attribute) => KEPT.has(nameOf(attribute))), `Path=${path}`, ...(isSecure ? ['Secure'] : [])].join(
    '; ',
  );
}

function pairsOf(header = ''): string[] {
  return header
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair !== '');
}

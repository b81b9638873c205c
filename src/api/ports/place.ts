/** Where callers see the server of a guest. */
export interface Place {
  /** What stands before the guest's own paths; empty on a host of its own. */
  prefix: string;
  /** What stands before the names of the guest's cookies: other cookies never reach it. */
  cookiePrefix: string;
  isSecure: boolean;
  /** The origins that its own pages name. */
  origins: readonly string[];
  /** Headers of each answer; a guest cannot change them. */
  headers: Readonly<Record<string, string>>;
}

/**
 * Pages below a path of the service have no origin (`sandbox` without `allow-same-origin`): their scripts reach nothing of the service, nor of other guests,
 * and have no cookies and no storage.
 */
const WITHOUT_ORIGIN = {
  'content-security-policy': 'sandbox allow-scripts allow-forms allow-modals allow-popups allow-downloads allow-pointer-lock',
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex, nofollow',
};
/** A page without an origin may read its own address only if everybody may: the address itself is the secret. */
export const READ_BY_ALL = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': '*',
  'access-control-allow-headers': '*',
  'access-control-expose-headers': '*',
};

/** Below a path of the service. `isSecret`: only who knows the address can ask for it. */
export function pathPlace(prefix: string, { isSecure, isSecret }: { isSecure: boolean; isSecret: boolean }): Place {
  const headers = isSecret ? { ...WITHOUT_ORIGIN, ...READ_BY_ALL } : WITHOUT_ORIGIN;
  return { prefix, cookiePrefix: 'guest-', isSecure, origins: isSecret ? ['null'] : [], headers };
}

/** On a host of its own. Browsers take a cookie named `__Host-` only from the host itself, not from one beside it. */
export function hostPlace(origin: string): Place {
  return { prefix: '', cookiePrefix: '__Host-guest-', isSecure: true, origins: [origin], headers: { 'x-robots-tag': 'noindex, nofollow' } };
}

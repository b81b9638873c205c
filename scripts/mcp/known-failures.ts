/** Scenarios of the conformance suite that fail, and why. No revision requires any of them. */
export const KNOWN_FAILURES: Record<string, string> = {
  'auth/enterprise-managed-authorization':
    'it is about an extension in which an identity provider signs the user in to the application, and Longshore has no identity of its users',
  'auth/dpop': 'it is about an extension (DPoP), which binds tokens to a key; Longshore sends tokens as bearers',
  'auth/dpop-nonce': 'as auth/dpop',
  'auth/wif-jwt-bearer': 'it is about an extension in which the platform that a worker runs on says who it is; Longshore has credentials of its own',
};

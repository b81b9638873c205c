/** Scenarios of the conformance suite that fail, and why. */
export const KNOWN_FAILURES: Record<string, string> = {
  'auth/cross-app-access-complete-flow':
    'it is about an extension (enterprise-managed authorization), in which an identity provider signs the user in to the application, and Longshore has no identity of its users',
};

import { failure } from '../../contracts/errors.ts';
import type { Config } from '../../platform/config.ts';

/** An OpenID Connect issuer whose tokens callers may send, and what their claims mean. */
export interface OidcOptions {
  issuer: string;
  audience: string;
  /** Where its keys are; absent: where its discovery document says. */
  keys?: string;
  algorithms: string[];
  /** The claim with the tenant; a token without it is refused. */
  tenantClaim: string;
  userClaim: string;
  scopeClaim: string;
}

/** Undefined when there is no issuer. @throws CONFIG_INVALID */
export function oidcOptionsOf(config: Config): OidcOptions | undefined {
  const { LONGSHORE_OIDC_ISSUER: issuer, LONGSHORE_OIDC_AUDIENCE: audience, LONGSHORE_OIDC_KEYS: keys } = config;
  if (issuer === undefined) return undefined;
  if (audience === undefined) {
    const problem = 'it is not set, and LONGSHORE_OIDC_ISSUER is: tokens that the issuer made for other services would be accepted';
    throw failure('CONFIG_INVALID', { name: 'LONGSHORE_OIDC_AUDIENCE', problem, fix: 'Set it to the audience that tokens for this service have' });
  }
  return {
    issuer,
    audience,
    ...(keys !== undefined && { keys }),
    algorithms: config.LONGSHORE_OIDC_ALGORITHMS,
    tenantClaim: config.LONGSHORE_OIDC_TENANT_CLAIM,
    userClaim: config.LONGSHORE_OIDC_USER_CLAIM,
    scopeClaim: config.LONGSHORE_OIDC_SCOPE_CLAIM,
  };
}

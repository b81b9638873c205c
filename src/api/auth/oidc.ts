import { errors, jwtVerify, type JWTPayload } from 'jose';
import { id as idSchema } from '../../common/arguments.ts';
import { keyIdOfToken, SCOPES, type Scope } from '../../contracts/api-key.ts';
import { failure, isFailure, type LongshoreError } from '../../contracts/errors.ts';
import type { Caller, TokenVerifier } from './caller.ts';
import { createKeyFinder } from './oidc-keys.ts';
import type { OidcOptions } from './oidc-options.ts';

const LONGEST_TOKEN = 8_192;
/** The clock of the issuer may differ from ours by so many seconds. */
const CLOCK_TOLERANCE_S = 30;

/** Verifies the tokens (JWT) of an OpenID Connect issuer. */
export function createOidcVerifier(options: OidcOptions): TokenVerifier {
  const { issuer, audience, algorithms } = options;
  const keyOf = createKeyFinder(options);
  return async (token) => {
    if (token.length > LONGEST_TOKEN) throw refused(`its token has more than ${LONGEST_TOKEN} characters`);
    const verified = await jwtVerify(token, keyOf, {
      issuer,
      audience,
      algorithms,
      clockTolerance: CLOCK_TOLERANCE_S,
      requiredClaims: ['exp'],
    }).catch((error: unknown) => {
      throw translated(error, issuer);
    });
    return callerOfClaims(verified.payload, options);
  };
}

/**
 * A token is never an operator's: it has a tenant. Its user is bound to it, and sees what belongs to that user, unless the scope `admin` lets it see all of the
 * tenant.
 */
function callerOfClaims(payload: JWTPayload, { tenantClaim, userClaim, scopeClaim }: OidcOptions): Caller {
  const tenantId = idIn(payload, tenantClaim);
  const user = idIn(payload, userClaim);
  const scopes = new Set(scopesIn(payload[scopeClaim]));
  const caller = { keyId: keyIdOfToken(tenantId, user), actor: { kind: 'oidc' as const, id: user }, tenantId, scopes };
  return scopes.has('admin') ? caller : { ...caller, userId: user };
}

function idIn(payload: JWTPayload, claim: string): string {
  const value = Object.hasOwn(payload, claim) ? payload[claim] : undefined;
  const parsed = idSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw refused(`its token has no usable claim "${claim}": that must be a text of 1 to 200 characters`);
}

/** A text with spaces between, as in `scope`, or a list, as in `roles`. Others than ours are for other services. */
function scopesIn(claim: unknown): Scope[] {
  const given: unknown[] = typeof claim === 'string' ? claim.split(' ') : Array.isArray(claim) ? claim : [];
  return SCOPES.filter((scope) => given.includes(scope));
}

function translated(error: unknown, issuer: string): LongshoreError {
  if (isFailure(error)) return error;
  if (error instanceof errors.JWKSInvalid) return failure('ISSUER_UNREACHABLE', { url: issuer, problem: 'what it gave are no keys' }, error);
  if (error instanceof errors.JWTExpired) return refused('its token has expired');
  if (error instanceof errors.JWTClaimValidationFailed) return refused(`its token is not for this service: see the claim "${error.claim}"`);
  if (error instanceof errors.JWKSNoMatchingKey) return refused('the issuer has no key that could have signed its token');
  // Others depend on what the token says: an algorithm that is not allowed, a wrong signature, no token at all.
  return refused('its token cannot be verified');
}

function refused(problem: string): LongshoreError {
  return failure('UNAUTHENTICATED', { problem });
}

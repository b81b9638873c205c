import { createRemoteJWKSet, customFetch, type FetchImplementation, type JWTVerifyGetKey } from 'jose';
import { failure } from '../../contracts/errors.ts';
import { tryParseForeign } from '../../contracts/foreign-json.ts';
import type { OidcOptions } from './oidc-options.ts';

const TIMEOUT_MS = 5_000;
/** However many tokens name unknown keys, the keys are read again once in this time. */
const COOLDOWN_MS = 30_000;
/** An issuer that has just failed is not asked again. */
const FAILED_MS = 3_000;

/** Finds the key that has signed a token: reads the issuer's keys when the first token comes, every ten minutes, and for a key that is not known. */
export function createKeyFinder({ issuer, keys }: Pick<OidcOptions, 'issuer' | 'keys'>): JWTVerifyGetKey {
  const read = createIssuerReader();
  let found: Promise<JWTVerifyGetKey> | undefined;
  const open = async () => {
    const url = keys ?? (await discover(issuer, read));
    return createRemoteJWKSet(new URL(url), { cooldownDuration: COOLDOWN_MS, timeoutDuration: TIMEOUT_MS, [customFetch]: read });
  };
  return async (header, token) => {
    found ??= open().catch((error: unknown) => {
      found = undefined;
      throw error;
    });
    return (await found)(header, token);
  };
}

/** @throws ISSUER_UNREACHABLE, also at once for a while after it has failed */
function createIssuerReader(): FetchImplementation {
  let failed: { problem: string; until: number } | undefined;
  return async (url, options) => {
    if (failed && performance.now() < failed.until) throw failure('ISSUER_UNREACHABLE', { url, problem: failed.problem });
    try {
      const answer = await fetch(url, options);
      if (answer.status !== 200) {
        await answer.body?.cancel();
        throw new Error(`it answered ${answer.status}`);
      }
      failed = undefined;
      return answer;
    } catch (error) {
      const { cause, message } = error as { cause?: { message?: string }; message: string };
      failed = { problem: cause?.message || message, until: performance.now() + FAILED_MS };
      throw failure('ISSUER_UNREACHABLE', { url, problem: failed.problem }, error);
    }
  };
}

/** Where the issuer says that its keys are. */
async function discover(issuer: string, read: FetchImplementation): Promise<string> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const headers = new Headers({ accept: 'application/json' });
  const answer = await read(url, { headers, method: 'GET', redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) });
  const told = tryParseForeign(await answer.text()) as { issuer?: unknown; jwks_uri?: unknown } | null | undefined;
  const { jwks_uri: keys } = told ?? {};
  if (told?.issuer !== issuer || typeof keys !== 'string' || !URL.canParse(keys) || new URL(keys).protocol !== new URL(issuer).protocol) {
    throw failure('ISSUER_UNREACHABLE', { url, problem: `what is there does not describe the issuer "${issuer}" and its keys` });
  }
  return keys;
}

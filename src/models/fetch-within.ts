import { onlyStreams } from './only-streams.ts';

const MOST_REDIRECTS = 5;
/** Those that repeat the request as it is. Others would make a GET of it. */
const REPEATING = new Set([307, 308]);

/**
 * As `fetch`, for answers that are streams. Follows redirects within one origin only: another server would get the key of the provider, and what is in the prompt.
 */
export const fetchWithin: typeof fetch = async (input, init) => {
  if (input instanceof Request) throw new TypeError('Give an address, with the rest in the options');
  let address = new URL(input);
  for (let redirects = 0; ; redirects += 1) {
    const answer = await fetch(address, { ...init, redirect: 'manual' });
    const location = answer.headers.get('location');
    if (!REPEATING.has(answer.status) || location === null || !URL.canParse(location, address.href) || redirects === MOST_REDIRECTS) return onlyStreams(answer);
    await answer.body?.cancel();
    const next = new URL(location, address);
    if (next.origin !== address.origin) throw Object.assign(new Error(`${address.origin} redirects to ${next.origin}`), { type: 'invalid_request' });
    address = next;
  }
};

import { onlyStreams } from './only-streams.ts';

const MOST_REDIRECTS = 5;
/** Those that repeat the request as it is. */
const REPEATING = new Set([307, 308]);
/** Those that make a GET of it, without what was asked. */
const LOSING = new Set([301, 302, 303]);

/**
 * As `fetch`, for answers that are streams. Follows redirects within one origin only: another server would get the key of the provider, and what is in the prompt.
 * @throws an error that ends the retries, for one to another origin and one that would lose the request
 */
export const fetchWithin: typeof fetch = async (input, init) => {
  if (input instanceof Request) throw new TypeError('Give an address, with the rest in the options');
  let address = new URL(input);
  for (let redirects = 0; ; redirects += 1) {
    const answer = await fetch(address, { ...init, redirect: 'manual' });
    const location = answer.headers.get('location');
    const { status } = answer;
    const isFollowed = REPEATING.has(status) && redirects < MOST_REDIRECTS;
    if (!(isFollowed || LOSING.has(status)) || location === null || !URL.canParse(location, address.href)) return onlyStreams(answer);
    await answer.body?.cancel();
    const next = new URL(location, address);
    if (!isFollowed || next.origin !== address.origin) throw refusal(address, next, status);
    address = next;
  }
};

/** It would be the same each time. The rest of the address may have what is secret. */
function refusal(from: URL, { origin, pathname }: URL, status: number): Error {
  return Object.assign(new Error(`${from.origin} redirects to ${origin}${pathname} (HTTP ${status}), which is not followed`), { type: 'invalid_request' });
}

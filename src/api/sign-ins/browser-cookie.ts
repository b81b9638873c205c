import type { FastifyRequest } from 'fastify';

const NAME = 'longshore_sign_in';
const SECURE = `__Host-${NAME}`;

/** The name of the cookie by which the browser that comes back from an authorization server is known. Over https, it is one that no other host can set. */
export function cookieName(publicUrl: string): string {
  return publicUrl.startsWith('https:') ? SECURE : NAME;
}

/** @param pair name and value */
export function cookieHeader(pair: string, maxAgeMs: number): string {
  return `${pair}; Path=/; Max-Age=${Math.floor(maxAgeMs / 1000)}; HttpOnly; SameSite=Lax${pair.startsWith(SECURE) ? '; Secure' : ''}`;
}

/** The cookie with its name, so that one that another host has set is another one; empty when there is none. */
export function cookieOf({ headers }: Pick<FastifyRequest, 'headers'>): string {
  const pairs = (headers.cookie ?? '').split(';').map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${SECURE}=`)) ?? pairs.find((pair) => pair.startsWith(`${NAME}=`)) ?? '';
}

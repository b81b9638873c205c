import { randomUUID } from 'node:crypto';
import type { JsonObject } from '../../src/contracts/json.ts';
import type { SignIn, SignInRows, Way } from '../../src/store/sign-ins/sign-ins.ts';
import type { KeptTokens, SignedIn } from '../../src/store/sign-ins/tokens.ts';

/** The rows of sign-ins in memory, for tests without a database. */
export function memoryRows(): SignInRows {
  const tokens = new Map<string, KeptTokens>();
  const clients = new Map<string, JsonObject>();
  const signIns = new Map<string, SignIn & { way?: Way }>();
  const turns = new Map<string, Promise<unknown>>();
  const keyOf = (place: { tenantId: string; userId: string; server: string }) => JSON.stringify([place.tenantId, place.userId, place.server]);
  const isOpen = ({ isDone, expiresAt }: SignIn) => !isDone && expiresAt.getTime() > Date.now();
  return {
    tokens: {
      get: async (place) => tokens.get(keyOf(place)),
      put: async (place, given) => void tokens.set(keyOf(place), { ...given, version: randomUUID() }),
      async renew(place, version, given) {
        const known = tokens.get(keyOf(place));
        if (known?.version !== version) return false;
        tokens.set(keyOf(place), { ...known, ...given, version: randomUUID() });
        return true;
      },
      async remove(place, version) {
        return (version === undefined || tokens.get(keyOf(place))?.version === version) && tokens.delete(keyOf(place));
      },
      list: async () => [] as SignedIn[],
      async inTurn(place, work) {
        const before = turns.get(keyOf(place)) ?? Promise.resolve();
        const mine = before.catch(() => undefined).then(work);
        turns.set(keyOf(place), mine);
        return mine;
      },
    },
    clients: {
      get: async (place) => clients.get(JSON.stringify(place)),
      put: async (place, client) => void clients.set(JSON.stringify(place), client),
      remove: async (place) => void clients.delete(JSON.stringify(place)),
    },
    async add({ ttlMs, ...given }) {
      const signIn = { ...given, expiresAt: new Date(Date.now() + ttlMs), isDone: false, isResumed: false };
      signIns.set(given.signInId, signIn);
      return { ...signIn };
    },
    ofCall: async (callId) => [...signIns.values()].findLast((one) => one.callId === callId),
    byLink: async (link) => [...signIns.values()].find((one) => one.link === link && isOpen(one)),
    async setOut(signInId, way) {
      const one = signIns.get(signInId);
      if (one && isOpen(one)) one.way = way;
    },
    async comeBack(state, browser) {
      const one = [...signIns.values()].find(({ way }) => way?.state === state);
      const { way } = one ?? {};
      if (!one || !way) return undefined;
      delete one.way;
      const { verifier, client } = way;
      return way.browser === browser && isOpen(one) ? { signIn: one, verifier, ...(client && { client }) } : undefined;
    },
    async finish({ tenantId, userId, server, url }) {
      const found = [...signIns.values()].filter(
        (one) => isOpen(one) && one.tenantId === tenantId && one.userId === userId && one.server === server && one.url === url,
      );
      for (const one of found) one.isDone = true;
      return found;
    },
    isDone: async (signInId) => signIns.get(signInId)?.isDone === true,
    async end(signInId) {
      const one = signIns.get(signInId);
      if (one) one.expiresAt = new Date();
    },
    async resume(signInId) {
      const one = signIns.get(signInId);
      if (one) one.isResumed = true;
    },
  };
}

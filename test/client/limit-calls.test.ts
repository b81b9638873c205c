import { createLimitCalls } from '../../src/client/limit-calls.ts';
import { keyIdOfToken } from '../../src/contracts/api-key.ts';
import type { Store } from '../../src/store/store.ts';
import { BY } from '../store/support.ts';

function setUp() {
  const subjects: object[] = [];
  const store = {
    limits: { set: async (subject: object) => void subjects.push(subject) },
    apiKeys: { find: async () => undefined },
  } as unknown as Pick<Store, 'limits' | 'apiKeys'>;
  return { subjects, limits: createLimitCalls(store, BY) };
}

test.each(['oidc:["acme","maria"]', 'oidc:["acme", "maria"]', 'oidc: [ "acme",\n"maria" ]', 'oidc:["acme","m\\u0061ria"]'])(
  'a user of tokens is found however the text is written: %s',
  async (key) => {
    const { subjects, limits } = setUp();
    await limits.set({ key, requestsPerMinute: 1 });
    expect(subjects).toEqual([{ key: keyIdOfToken('acme', 'maria') }]);
  },
);

test.each(['oidc:maria', 'oidc:["acme"]', 'oidc:["acme","maria","x"]', 'oidc:["acme",1]', 'oidc:'])(
  'limits for what no user of tokens can have are refused, and can be taken away: %s',
  async (key) => {
    const { subjects, limits } = setUp();
    await expect(limits.set({ key, requestsPerMinute: 1 })).rejects.toMatchObject({ code: 'KEY_NOT_FOUND' });
    await limits.set({ key });
    expect(subjects).toEqual([{ key }]);
  },
);

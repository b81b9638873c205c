import { createGrantCalls } from '../../src/client/grant-calls.ts';
import type { PluginState } from '../../src/client/types/installation-types.ts';
import type { Store } from '../../src/store/store.ts';
import { BY } from '../store/support.ts';

const granted: unknown[] = [];
const plugins = { grant: (...given: unknown[]) => Promise.resolve(granted.push(given)) } as unknown as Store['plugins'];
const state = { id: 'one', granted: {}, reports: [] } as unknown as PluginState;
const { grant } = createGrantCalls({ plugins }, () => Promise.resolve(state), BY);

test.each([[['DATABASE_URL']], [['TIDE', 'LONGSHORE_ENCRYPTION_KEYS', 'PGPASSWORD']]])('a grant of %j, which no plugin may have, is refused', async (env) => {
  await expect(grant('one', { env })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringContaining('no plugin may have') as string });
  expect(granted).toEqual([]);
});

test('a variable of the plugin is granted', async () => {
  expect(await grant('one', { env: ['TIDE'] })).toEqual({ env: ['TIDE'] });
  expect(granted).toHaveLength(1);
});

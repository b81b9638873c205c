import { failure } from '../../../../src/contracts/errors.ts';
import { askProcess } from '../../../../src/plugins/dialects/shared/python/ask-process.ts';

/** A sandbox whose journal has the exec of an earlier attempt, which asked the server of another version. */
function bench({ first }: { first?: string }) {
  const asked: object[] = [];
  const handle = {
    async callServer(server: { name: string }, _request: object, { execId, asStarted = false }: { execId: string; asStarted?: boolean }) {
      asked.push({ server: server.name, asStarted });
      if (first !== undefined && first !== server.name && !asStarted) throw failure('EXEC_MISMATCH', { execId });
      return { outcome: 'answered', result: { of: asStarted ? first : server.name } };
    },
    forget: async () => undefined,
  };
  const forgotten: string[] = [];
  const own = { open: async () => ({ handle, held: true }), forget: (tenantId: string) => void forgotten.push(tenantId) };
  const reached = { own, server: () => ({ name: 'plugin-new' }), settings: () => ({}) };
  const ask = () => askProcess(reached as never, 'north', { name: 'hook:received' }, { execId: 'hook_1', timeoutMs: 1_000 });
  return { ask, asked, forgotten };
}

test('a question that another version of the plugin was asked before has the answer of that one', async () => {
  const { ask, asked, forgotten } = bench({ first: 'plugin-old' });
  expect((await ask()).result).toEqual({ of: 'plugin-old' });
  expect(asked).toEqual([
    { server: 'plugin-new', asStarted: false },
    { server: 'plugin-new', asStarted: true },
  ]);
  // Its container is fine.
  expect(forgotten).toEqual([]);
});

test('a question that was not asked before is asked once', async () => {
  const { ask, asked } = bench({});
  expect((await ask()).result).toEqual({ of: 'plugin-new' });
  expect(asked).toEqual([{ server: 'plugin-new', asStarted: false }]);
});

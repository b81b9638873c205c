import { elsewhereFailure } from '../../src/sandbox/api/elsewhere.ts';
import { proposed } from './calls.ts';
import { setUpCall } from './fakes.ts';

test('a host tool on a host that is being drained begins on another one that may have its sandbox, or here where there is none', async () => {
  let others = [{ sandboxId: 'sbx_1', host: 'other', waitMs: 1 }];
  const checkFits = async () => {
    for (const other of others) throw elsewhereFailure(other, 'drained');
  };
  let isDraining = true;
  const host = { hostId: 'drained', isDraining: () => isDraining, checkFits };
  const call = await proposed(setUpCall({ isolation: 'host', execute: async () => 'fine' }, undefined, undefined, host));
  await expect(call.worker().execute()).rejects.toMatchObject({ code: 'SANDBOX_UNREACHABLE', values: { host: 'other' } });
  expect(call.typesOf()).toEqual([]);
  others = [];
  expect(await call.worker().execute()).toMatchObject({ outcome: 'finished', isError: false });
  isDraining = false;
  others = [{ sandboxId: 'sbx_1', host: 'other', waitMs: 1 }];
  const another = await proposed(setUpCall({ isolation: 'host', execute: async () => 'fine' }, undefined, undefined, host));
  expect(await another.worker().execute()).toMatchObject({ outcome: 'finished', isError: false });
});

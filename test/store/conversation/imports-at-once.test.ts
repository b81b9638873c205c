import type { ImportReport } from '../../../src/contracts/imports/import.ts';
import type { Store } from '../../../src/store/store.ts';
import { behindLock, rowOf } from '../behind-lock.ts';
import { newId, statusOf, useTestStore } from '../support.ts';

let store: Store;
let url: string;
useTestStore((opened) => ({ store, url } = opened));

test('an import that is completed while the same archive is imported again stays', async () => {
  const conversationId = newId('conv');
  const status = statusOf(conversationId, { importedFrom: { conversationId: 'before', exportedAt: '2026-11-01T00:00:00.000Z' } });
  const row = { conversationId, status, from: status.importedFrom!, digest: 'd' };
  expect(await store.imports.begin({ ...row, attempt: 'one' })).toBe(true);
  const [, isBegun] = await behindLock(url, rowOf(conversationId), [
    () => store.imports.complete({ conversationId, attempt: 'one' }, { status, report: {} as ImportReport }),
    () => store.imports.begin({ ...row, attempt: 'two' }),
  ]);
  expect(isBegun).toBe(false);
  expect(await store.conversations.stateOf(conversationId)).toBe('idle');
  expect(await store.imports.get(conversationId)).toMatchObject({ report: {} });
});

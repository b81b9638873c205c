import { failure } from '../../../src/contracts/errors.ts';
import type { Database } from '../../../src/store/database/database.ts';
import type { SealedJson } from '../../../src/store/sign-ins/sealed-json.ts';
import { createTokenRows } from '../../../src/store/sign-ins/tokens.ts';

const PLACE = { tenantId: 'north', userId: 'ada', server: 'desk' };
const AWAY = failure('POSTGRES_UNAVAILABLE', { problem: 'it restarts' });
const sealed: SealedJson = { seal: (value) => JSON.stringify(value), open: (text) => JSON.parse(text) as never };

/** A database with one row, whose first statements end as given: the statement fails before or after it took effect. */
function openRow(ends: ('before' | 'after' | Error)[]) {
  const row = { version: 'v1', sealed: '{}' };
  const query = async (_name: string, _sql: string, values: unknown[]) => {
    const end = ends.shift();
    if (end === 'before') throw AWAY;
    if (end instanceof Error) throw end;
    const isThere = values[3] === row.version;
    if (isThere) Object.assign(row, { version: 'v2', sealed: values[5] });
    if (end === 'after') throw AWAY;
    return isThere ? [{}] : [];
  };
  return { row, left: ends, tokens: createTokenRows({ database: { query } as unknown as Database, sealed }) };
}

const fresh = { scope: '', secret: { tokens: { access_token: 'new' } } };

test('a renewal is stored although the database is away for a moment: the tokens before it hold no more', async () => {
  const { tokens, row } = openRow(['before', 'before']);
  expect(await tokens.renew(PLACE, 'v1', fresh)).toBe(true);
  expect(row).toEqual({ version: 'v2', sealed: JSON.stringify(fresh.secret) });
});

test('one that was stored, and whose answer was lost, is not stored again', async () => {
  const { tokens, row, left } = openRow(['after']);
  // The row has another version now, whose tokens the caller reads.
  expect(await tokens.renew(PLACE, 'v1', fresh)).toBe(false);
  expect(row.sealed).toBe(JSON.stringify(fresh.secret));
  expect(left).toEqual([]);
});

test('an error that does not pass is not tried again', async () => {
  const { tokens, left } = openRow([failure('INTERNAL', { problem: 'odd' }), new Error('a second statement')]);
  await expect(tokens.renew(PLACE, 'v1', fresh)).rejects.toMatchObject({ code: 'INTERNAL' });
  expect(left).toHaveLength(1);
});

describe('connections for locks, which sandboxes need, too', () => {
  /** Locks that are held until they are let go. */
  function openLocks(patience: { patienceMs?: number } = {}) {
    const held: (() => void)[] = [];
    const withLock = async <Result>(_name: string, _mode: string, work: () => Promise<Result>) => {
      await new Promise<void>((resolve) => void held.push(resolve));
      return work();
    };
    return { held, tokens: createTokenRows({ database: { withLock } as unknown as Database, sealed, ...patience }) };
  }
  const settled = () => new Promise((resolve) => setImmediate(resolve));

  test('are not taken up by renewals that wait for servers of others', async () => {
    const { tokens, held } = openLocks();
    const done: string[] = [];
    const all = ['ada', 'bob', 'eve', 'ian', 'joe'].map((userId) => tokens.inTurn({ ...PLACE, userId }, async () => void done.push(userId)));
    for (let left = 5; left > 0; left -= 1) {
      await settled();
      expect(held.length).toBe(Math.min(left, 2));
      held.shift()?.();
      await settled();
    }
    await Promise.all(all);
    expect(done).toEqual(['ada', 'bob', 'eve', 'ian', 'joe']);
  });

  test('a renewal that has waited for long for others says so', async () => {
    const { tokens, held } = openLocks({ patienceMs: 50 });
    const first = ['ada', 'bob'].map((userId) => tokens.inTurn({ ...PLACE, userId }, async () => 'done'));
    await expect(tokens.inTurn({ ...PLACE, userId: 'eve' }, async () => 'done')).rejects.toThrow(
      'the sign-in at desk cannot be renewed now: renewals of other sign-ins wait for servers that do not answer. Try again later',
    );
    for (const go of held) go();
    expect(await Promise.all(first)).toEqual(['done', 'done']);
  });
});

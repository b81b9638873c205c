import { deferred } from '../../../../../src/common/deferred.ts';
import { UserSessions } from '../../../../../src/plugins/dialects/mcp/sign-in/user-sessions.ts';

const ADA = { tenantId: 'north', userId: 'ada' };
const SAME_NAME = { tenantId: 'south', userId: 'ada' };

/** Connections whose calls end when the test says so. */
function connections() {
  const opened: string[] = [];
  const closed: string[] = [];
  const running: (() => void)[] = [];
  const open = async ({ tenantId, userId }: typeof ADA) => {
    const name = `${tenantId} ${userId} ${opened.length}`;
    opened.push(name);
    const ended = deferred<string>();
    return {
      name,
      ended: ended.promise,
      call: () => new Promise<void>((resolve) => running.push(resolve)),
      close: async (why: string) => {
        closed.push(`${name}: ${why}`);
        ended.resolve(why);
      },
    };
  };
  return { opened, closed, running, open };
}

const soon = () => new Promise((resolve) => setImmediate(resolve));

test('each user of each tenant has one connection', async () => {
  const { opened, open } = connections();
  const sessions = new UserSessions(open);
  for (const user of [ADA, SAME_NAME, ADA]) await sessions.of(user);
  expect(opened).toEqual(['north ada 0', 'south ada 1']);
  await sessions.close('end', 'now');
});

test('one that is dropped goes on with its calls in progress, and the next call has another one', async () => {
  const { closed, running, open } = connections();
  const sessions = new UserSessions(open);
  const call = (await sessions.of(ADA)).call();
  sessions.drop(ADA, 'the user has signed in');
  expect((await sessions.of(ADA)).name).toBe('north ada 1');
  expect(closed).toEqual([]);
  running[0]!();
  await call;
  await soon();
  expect(closed).toEqual(['north ada 0: the user has signed in']);
  await sessions.close('end', 'now');
});

test('one that could not be opened, or has ended, is opened again', async () => {
  let fails = true;
  const { opened, open } = connections();
  const sessions = new UserSessions(async (user: typeof ADA) => {
    if (fails) throw new Error('down');
    return open(user);
  });
  await expect(sessions.of(ADA)).rejects.toThrow('down');
  fails = false;
  await soon();
  await (await sessions.of(ADA)).close('it broke');
  await soon();
  await sessions.of(ADA);
  expect(opened).toEqual(['north ada 0', 'north ada 1']);
  await sessions.close('end', 'now');
});

test('one that is not used ends, and one with a call in progress does not', async () => {
  const { closed, running, open } = connections();
  const sessions = new UserSessions(open, 5);
  const call = (await sessions.of(ADA)).call();
  const other = (await sessions.of(SAME_NAME)).ended;
  expect(await other).toBe('no call has used it for a while');
  expect(closed).toEqual(['south ada 1: no call has used it for a while']);
  running[0]!();
  await call;
  await (
    await sessions.of(ADA)
  ).ended;
  expect(closed).toHaveLength(2);
});

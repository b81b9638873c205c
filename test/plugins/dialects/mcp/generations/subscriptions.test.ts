import { ProtocolError, type McpSubscription } from '@modelcontextprotocol/client';
import { deferred } from '../../../../../src/common/deferred.ts';
import { createSubscriptions } from '../../../../../src/plugins/dialects/mcp/connection/subscriptions.ts';

const REFUSED: Error = new ProtocolError(-32_602, 'no such resource');
const beginsBadly = (uri: string) => uri.startsWith('bad');

/** A server that refuses each list with a resource whose address begins with `bad`, as `fails` says. */
function bench({ lists = {}, fails = REFUSED, isBad = (uris: string[]) => uris.some(beginsBadly) } = {}) {
  const open = new Set<string[]>();
  const problems: unknown[] = [];
  const end = new AbortController();
  let isLost = false;
  const listen = async ({ resourceSubscriptions = [] }: { resourceSubscriptions?: string[] }): Promise<McpSubscription> => {
    await new Promise((resolve) => setImmediate(resolve));
    if (isBad(resourceSubscriptions)) throw fails;
    open.add(resourceSubscriptions);
    const closed = deferred<'local'>();
    const close = async () => {
      open.delete(resourceSubscriptions);
      closed.resolve('local');
    };
    return { honoredFilter: { resourceSubscriptions }, close, closed: closed.promise };
  };
  const subscriptions = createSubscriptions({
    client: { listen },
    lists,
    ended: end.signal,
    onGap: () => undefined,
    onProblem: (error) => problems.push(error),
    onLost: () => (isLost = true),
  });
  return { subscriptions, open, problems, isLost: () => isLost, [Symbol.dispose]: () => end.abort() };
}

const LISTS = { toolsListChanged: true } as const;
const outcome = (adding: Promise<void>) =>
  adding.then(
    () => 'added',
    (error: Error) => error.message,
  );

test('a resource that the server refuses ends no stream of others, and is not asked for again', async () => {
  using given = bench({ lists: LISTS });
  const { subscriptions, open } = given;
  await subscriptions.begin();
  await subscriptions.add('tide:now');
  expect(await outcome(subscriptions.add('bad:1'))).toBe('no such resource');
  expect([...open]).toEqual([['tide:now']]);
  await subscriptions.add('tide:then');
  expect([...open]).toEqual([['tide:now', 'tide:then']]);
});

test('of several resources at the same time, only those are refused that the server refuses', async () => {
  using given = bench();
  const { subscriptions, open } = given;
  const uris = ['tide:1', 'bad:1', 'tide:2', 'bad:2'];
  expect(await Promise.all(uris.map((uri) => outcome(subscriptions.add(uri))))).toEqual(['added', 'no such resource', 'added', 'no such resource']);
  await subscriptions.add('tide:3');
  expect([...open]).toEqual([['tide:1', 'tide:2', 'tide:3']]);
});

test('resources at which the server fails do not make it count as lost', async () => {
  using given = bench({ lists: LISTS, fails: new Error('out of order') });
  const { subscriptions, open } = given;
  await subscriptions.begin();
  for (let at = 0; at < 5; at += 1) {
    expect(await outcome(subscriptions.add(`bad:${at}`))).toBe('out of order');
    await subscriptions.add(`tide:${at}`);
  }
  expect(given.isLost()).toBe(false);
  expect([...open]).toEqual([['tide:0', 'tide:1', 'tide:2', 'tide:3', 'tide:4']]);
});

test('a server that refuses the stream itself is asked once', async () => {
  using given = bench({ lists: LISTS, isBad: () => true });
  await given.subscriptions.begin();
  await new Promise((resolve) => setImmediate(resolve));
  expect(given.problems).toHaveLength(1);
});

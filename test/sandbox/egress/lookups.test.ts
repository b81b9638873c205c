import { once } from 'node:events';
import { duplexPair, type Duplex } from 'node:stream';
import { createAddressPolicy } from '../../../src/network/address-policy.ts';
import { createLogger } from '../../../src/platform/log.ts';
import { createEgress, type Egress } from '../../../src/sandbox/egress/create-egress.ts';

interface Lookup {
  host: string;
  fail: () => void;
}

let lookups: Lookup[];
let egress: Egress;

beforeEach(() => {
  lookups = [];
  const resolve = (host: string) => new Promise<string[]>((_resolve, reject) => void lookups.push({ host, fail: () => reject(new Error('no such name')) }));
  egress = createEgress({
    egress: ['*.wild.test', '127.0.0.1'],
    policy: createAddressPolicy({ resolve }),
    authority: { certificate: async () => '', contextFor: () => Promise.reject(new Error('not needed')) },
    readEnvironment: () => undefined,
    tell: async () => undefined,
    log: createLogger({ LONGSHORE_LOG_LEVEL: 'silent' }),
  });
});
afterEach(() => egress.close());

/** A guest that asks for something of a host; the answer is its next data. */
function ask(host: string): Duplex {
  const [guest, worker] = duplexPair();
  egress.accept(worker);
  guest.write(`GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  return guest;
}

async function answerOf(guest: Duplex): Promise<string> {
  const [answer] = (await once(guest, 'data')) as [Buffer];
  return String(answer);
}

/** An address is refused without a lookup: by then, all that was asked before has been looked at. */
const allAreThere = async () => expect(await answerOf(ask('127.0.0.1'))).toContain('403 Forbidden');

test('a sandbox that asks for many slow names does not keep the lookups of this process for itself', async () => {
  const guests = Array.from({ length: 50 }, (_value, number) => ask(`n${number}.wild.test`));
  await allAreThere();
  expect(lookups.map(({ host }) => host)).toEqual(['n0.wild.test', 'n1.wild.test']);
  for (const [number, guest] of guests.entries()) {
    const answer = answerOf(guest);
    lookups[number]?.fail();
    expect(await answer).toContain(`n${number}.wild.test:80: the name cannot be resolved (no such name)`);
  }
  expect(lookups).toHaveLength(50);
});

test('a name that is being looked up is not looked up again at the same time', async () => {
  const guests = Array.from({ length: 10 }, () => ask('same.wild.test'));
  await allAreThere();
  expect(lookups).toHaveLength(1);
  const answers = guests.map(answerOf);
  lookups[0]?.fail();
  for (const answer of answers) expect(await answer).toContain('the name cannot be resolved');
  const later = answerOf(ask('same.wild.test'));
  await allAreThere();
  lookups[1]?.fail();
  expect(await later).toContain('the name cannot be resolved');
});

test('what has waited for its turn for too long is not looked up any more', async () => {
  import.meta.jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance', 'Date'] });
  const aborted = new AbortController();
  import.meta.jest.spyOn(AbortSignal, 'timeout').mockReturnValue(aborted.signal);
  const guests = ['a', 'b', 'c'].map((name) => ask(`${name}.wild.test`));
  await allAreThere();
  const answers = guests.map(answerOf);
  aborted.abort();
  import.meta.jest.advanceTimersByTime(10_000);
  for (const answer of answers) expect(await answer).toContain('the name could not be looked up');
  import.meta.jest.useRealTimers();
  import.meta.jest.restoreAllMocks();
  for (const lookup of lookups) lookup.fail();
  await allAreThere();
  expect(lookups.map(({ host }) => host)).toEqual(['a.wild.test', 'b.wild.test']);
});

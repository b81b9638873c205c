import { pino } from 'pino';
import { failure } from '../../../../src/contracts/errors.ts';
import { createHostLease } from '../../../../src/sandbox/lifecycle/base/host-lease.ts';
import { FakeTime } from '../fakes/fake-time.ts';

const LOST_MS = 60_000;

const nothing = () => Promise.resolve();

/** A lease on a host, with a database that may be away. */
function leased() {
  const state = { beats: 0, isAway: false };
  const hosts = {
    async beat() {
      if (state.isAway) throw failure('POSTGRES_UNAVAILABLE', { problem: 'away' });
      state.beats += 1;
      return { isDraining: false, hasOthers: false };
    },
  };
  return { state, lease: createHostLease({ hosts, hostId: 'here', lostAfterMs: LOST_MS, log: pino({ level: 'silent' }) }) };
}

async function pass(time: FakeTime, milliseconds: number): Promise<void> {
  const endMs = time.nowMs + milliseconds;
  setTimeout(() => undefined, milliseconds);
  while (time.nowMs < endMs) {
    await time.settle();
    time.pass();
  }
  await time.settle();
}

test('a process that does not keep the host has one term', () => {
  expect(leased().lease.term()).toBe(0);
});

test('the term lasts while the database hears of the host; in doubt there is none, and after it another one', async () => {
  using time = new FakeTime();
  const { state, lease } = leased();
  await using _kept = await lease.keep(nothing);
  expect([lease.term(), state.beats]).toEqual([0, 1]);
  await pass(time, 5 * LOST_MS + 1000);
  expect([lease.term(), state.beats]).toEqual([0, 31]);
  state.isAway = true;
  await pass(time, 40_000);
  expect(lease.term()).toBe(0);
  await pass(time, 20_000);
  expect(lease.term()).toBeUndefined();
  state.isAway = false;
  await pass(time, 15_000);
  expect(lease.term()).toBe(1);
});

test('a host that was in doubt comes back once for each time, one after the other, also after one that failed; short outages are none', async () => {
  using time = new FakeTime();
  const { state, lease } = leased();
  const returns: string[] = [];
  const kept = await lease.keep(async () => {
    returns.push('begun');
    await new Promise((resolve) => setTimeout(resolve, 2 * LOST_MS));
    returns.push('ended');
    throw failure('POSTGRES_UNAVAILABLE', { problem: 'away again' });
  });
  const loseFor = async (milliseconds: number) => {
    state.isAway = true;
    await pass(time, milliseconds);
    state.isAway = false;
    await pass(time, 15_000);
  };
  await loseFor(40_000);
  expect(returns).toEqual([]);
  await loseFor(LOST_MS);
  expect([returns, lease.term()]).toEqual([['begun'], 1]);
  await loseFor(LOST_MS);
  expect(lease.term()).toBe(2);
  await pass(time, 4 * LOST_MS);
  expect(returns).toEqual(['begun', 'ended', 'begun', 'ended']);
  await kept[Symbol.asyncDispose]();
});

test('a machine that was suspended is in doubt, although its steady clock stood still', async () => {
  using time = new FakeTime();
  const { lease } = leased();
  await using _kept = await lease.keep(nothing);
  await pass(time, 1000);
  const { now } = Date;
  Date.now = () => now() + LOST_MS;
  expect(lease.term()).toBeUndefined();
});

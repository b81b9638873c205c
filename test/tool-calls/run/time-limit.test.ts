import { startTimeLimit } from '../../../src/tool-calls/run/time-limit.ts';

beforeEach(() => import.meta.jest.useFakeTimers({ now: 0 }));
afterEach(() => import.meta.jest.useRealTimers());

test('the time in which a limit is held does not count, however many hold it', () => {
  let isOver = false;
  const limit = startTimeLimit(1_000, () => (isOver = true));
  import.meta.jest.advanceTimersByTime(600);
  const [one, two] = [limit.hold(), limit.hold()];
  import.meta.jest.advanceTimersByTime(5_000);
  one[Symbol.dispose]();
  one[Symbol.dispose]();
  import.meta.jest.advanceTimersByTime(5_000);
  two[Symbol.dispose]();
  import.meta.jest.advanceTimersByTime(399);
  expect(isOver).toBe(false);
  import.meta.jest.advanceTimersByTime(1);
  expect(isOver).toBe(true);
});

test('a limit that was disposed of never ends anything, also if it is held longer', () => {
  let isOver = false;
  const limit = startTimeLimit(1_000, () => (isOver = true));
  const held = limit.hold();
  limit[Symbol.dispose]();
  held[Symbol.dispose]();
  import.meta.jest.advanceTimersByTime(5_000);
  expect(isOver).toBe(false);
});

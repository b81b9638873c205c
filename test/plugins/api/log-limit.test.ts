import type { Logger } from '../../../src/platform/log.ts';
import { createLogLimit } from '../../../src/plugins/api/log-limit.ts';
import { createLogLimits } from '../../../src/tool-calls/log-limits.ts';
import { logOf } from '../../../src/plugins/dialects/mcp/connection/heard.ts';

const { jest } = import.meta;
beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

const NOTICE = 'this plugin has written 1000000 characters into the log within a minute; until the minute is over, its lines are left out';

function logged() {
  const lines: string[] = [];
  const write = (values: object, text: string) => void lines.push(`${text} ${JSON.stringify(values)}`);
  return { lines, log: { debug: write, info: write, warn: write, error: write } as unknown as Logger };
}

test('what a plugin writes beyond its limit is left out and counted, until a minute is over', () => {
  const { lines, log } = logged();
  const mayWrite = createLogLimit(log, { plugin: 'loud' });
  const taken = Array.from({ length: 1_000 }, () => mayWrite(3_800)).filter(Boolean);
  expect(taken).toHaveLength(250);
  expect(lines).toEqual([`${NOTICE} {"plugin":"loud"}`]);
  jest.advanceTimersByTime(59_999);
  expect(mayWrite(1)).toBe(false);
  jest.advanceTimersByTime(1);
  expect(lines.slice(1)).toEqual(['lines of this plugin were left out of the log {"plugin":"loud","lines":751}']);
  expect(mayWrite(1)).toBe(true);
  // What was written within another minute does not count.
  for (const minute of [1, 2, 3]) {
    expect([minute, mayWrite(900_000)]).toEqual([minute, true]);
    jest.advanceTimersByTime(60_000);
  }
  expect(lines).toHaveLength(2);
});

test('all calls of one plugin have one limit, and those of another have their own', () => {
  const { log } = logged();
  const limitOf = createLogLimits(log);
  expect(limitOf('a', {})(2_000_000)).toBe(true);
  expect([limitOf('a', {})(1), limitOf('b', {})(1)]).toEqual([false, true]);
});

test('a server that logs without end does not fill the log of the worker', () => {
  const { lines, log } = logged();
  const heard = logOf('server', log);
  for (let count = 0; count < 10_000; count += 1) {
    heard.log('info', 'x'.repeat(2_000));
    heard.listChanged('prompts');
  }
  expect(lines.join('').length).toBeLessThan(1_100_000);
  expect(lines.at(-1)).toBe(`${NOTICE} {"plugin":"server"}`);
});

import { PassThrough } from 'node:stream';
import { readSteadily } from '../../../src/plugins/isolates/read-steadily.ts';
import { until } from '../../e2e/support.ts';

function open(perSecond: number, milliseconds = { burst: 60_000, perSecond: 60_000 }, work: () => void = () => undefined) {
  const stream = new PassThrough();
  let bytes = 0;
  const { hurry, heldMs } = readSteadily(stream, { bytes: { burst: 1_000, perSecond }, milliseconds }, (chunk) => {
    bytes += chunk.length;
    work();
  });
  const has = (count: number) => until(async () => bytes === count, `${count} bytes are read`);
  return { stream, hurry, heldMs, has };
}

test('what is more than a burst is read, and what follows waits until that is made up for', async () => {
  const { stream, heldMs, has } = open(100_000);
  stream.write(Buffer.alloc(1_000));
  await has(1_000);
  expect(stream.isPaused()).toBe(false);
  expect(heldMs()).toBe(0);
  stream.write(Buffer.alloc(3_000));
  await has(4_000);
  expect(stream.isPaused()).toBe(true);
  stream.write(Buffer.alloc(10));
  await has(4_010);
  const held = heldMs();
  // 2,000 bytes above the burst, at 100,000 a second. A timer may be a millisecond early.
  expect(held).toBeGreaterThanOrEqual(19);
  expect(heldMs()).toBe(held);
});

test('the rest of a process that is gone is read at once', async () => {
  const { stream, hurry, has } = open(0.001);
  stream.write(Buffer.alloc(3_000));
  await has(3_000);
  stream.write(Buffer.alloc(3_000));
  expect(stream.isPaused()).toBe(true);
  hurry();
  await has(6_000);
  expect(stream.isPaused()).toBe(false);
});

test('bytes that take long to be worked on are made up for, too', async () => {
  const work = () => {
    const until = performance.now() + 20;
    while (performance.now() < until);
  };
  const { stream, hurry, has } = open(1_000_000, { burst: 1, perSecond: 0.001 }, work);
  stream.write('x');
  await has(1);
  expect(stream.isPaused()).toBe(true);
  stream.write('y');
  hurry();
  await has(2);
});

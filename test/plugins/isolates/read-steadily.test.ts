import { PassThrough } from 'node:stream';
import { readSteadily } from '../../../src/plugins/isolates/read-steadily.ts';
import { until } from '../../e2e/support.ts';

function open(perSecond: number) {
  const stream = new PassThrough();
  let bytes = 0;
  const hurry = readSteadily(stream, { burst: 1_000, perSecond }, (chunk) => (bytes += chunk.length));
  const has = (count: number) => until(async () => bytes === count, `${count} bytes are read`);
  return { stream, hurry, has };
}

test('what is more than a burst is read, and what follows waits until that is made up for', async () => {
  const { stream, has } = open(100_000);
  stream.write(Buffer.alloc(1_000));
  await has(1_000);
  expect(stream.isPaused()).toBe(false);
  stream.write(Buffer.alloc(3_000));
  await has(4_000);
  expect(stream.isPaused()).toBe(true);
  stream.write(Buffer.alloc(10));
  await has(4_010);
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

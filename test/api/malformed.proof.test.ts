import { serveScript } from './support.ts';
import { sendMalformed } from './support/malformed-walk.ts';

const PER_ROUTE = 200;

test('malformed requests are refused with a problem that the document names, and nothing of the inside shows', async () => {
  await using served = await serveScript([{ say: 'Ahoy.' }]);
  const { sent, wrong } = await sendMalformed(served, PER_ROUTE);
  expect(wrong).toEqual([]);
  expect(sent).toBeGreaterThan(PER_ROUTE * 30);
}, 900_000);

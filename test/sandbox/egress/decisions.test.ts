import { createMask } from '../../../src/sandbox/handle/secrets/mask.ts';
import { createDecisions, type EgressSummary } from '../../../src/sandbox/egress/decisions.ts';

function gather() {
  const told: EgressSummary[] = [];
  const decisions = createDecisions(async (summary) => void told.push(summary));
  return { told, decisions };
}

test('same decisions are one line with a count and the bytes of all', async () => {
  const { told, decisions } = gather();
  for (const bytes of [1, 2]) decisions.note({ host: 'a.test', port: 443 }).received(bytes);
  decisions.note({ host: 'b.test', port: 443 }, 'because');
  await decisions.close();
  expect(told).toEqual([
    {
      decisions: [
        { host: 'a.test', port: 443, decision: 'allowed', connections: 2, sentBytes: 0, receivedBytes: 3 },
        { host: 'b.test', port: 443, decision: 'refused', why: 'because', connections: 1, sentBytes: 0, receivedBytes: 0 },
      ],
    },
  ]);
});

test('a flood of different ones is cut and counted', async () => {
  const { told, decisions } = gather();
  for (let count = 0; count < 1000; count += 1) decisions.note({ host: `h${count}.test`, port: 443 }, 'because');
  await decisions.close();
  expect(told).toHaveLength(1);
  expect(told[0]?.decisions).toHaveLength(50);
  expect(told[0]?.leftOut).toBe(950);
});

test('what a guest wrote for a host is made fit for a log', async () => {
  const { told, decisions } = gather();
  decisions.note(`a\0\u001B[31m${'b'.repeat(1000)}`, 'odd');
  await decisions.close();
  expect(told[0]?.decisions[0]?.host).toMatch(/^a\uFFFD\uFFFD\[31mb{248}$/);
});

test('secrets of the sandbox are not reported, wherever the guest writes them', async () => {
  const told: EgressSummary[] = [];
  const mask = createMask(['Sesame', 'sesame']);
  const decisions = createDecisions(
    async (summary) => void told.push(summary),
    (text) => mask.text(text),
  );
  decisions.note(`${'u'.repeat(252)}Sesame@a.test`, 'odd');
  decisions.note({ host: 'sesame.a.test', port: 443 }, 'its TLS asks for the name "Sesame"');
  await decisions.close();
  expect(JSON.stringify(told)).not.toMatch(/ses/i);
  expect(told[0]?.decisions[1]).toMatchObject({ host: '******.a.test', why: 'its TLS asks for the name "******"' });
});

test('without decisions nothing is reported', async () => {
  const { told, decisions } = gather();
  await decisions.close();
  expect(told).toEqual([]);
});

import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { duplexPair } from 'node:stream';
import { createLogger } from '../../../src/platform/log.ts';
import { createTermsOf, type TermsOfOptions } from '../../../src/sandbox/lifecycle/terms-of.ts';

const SECRET = 'Sesame-4711-open';
let home: string;
beforeAll(async () => (home = await mkdtemp(join(tmpdir(), 'longshore-egress-'))));
afterAll(() => rm(home, { recursive: true }));

test('a secret that a program writes into the name of a host is not in the events', async () => {
  process.env['EGRESS_TEST_KEY'] = SECRET;
  const events: unknown[] = [];
  const row = {
    sandboxId: 'sbx_a',
    conversationId: 'conv_a',
    options: { egress: [], secrets: { KEY: '${env.EGRESS_TEST_KEY}', NONE: '${env.EGRESS_TEST_NONE}' } },
  };
  const store = { sandboxes: { get: async () => row }, events: { append: async (_id: string, added: unknown[]) => void events.push(...added) } };
  const options = {
    config: { LONGSHORE_HOME: home, LONGSHORE_EGRESS_ADDRESSES: '' },
    store,
    log: createLogger({ LONGSHORE_LOG_LEVEL: 'silent' }),
    role: 'worker',
  };
  const { egress } = await createTermsOf(options as unknown as TermsOfOptions)('sbx_a');
  for (const authority of [`${SECRET}.test`, `u:${SECRET}@a.test`]) {
    const [guest, worker] = duplexPair();
    egress?.accept(worker);
    guest.resume().end(`GET http://${authority}/ HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
    await once(guest, 'end');
  }
  await egress?.close();
  delete process.env['EGRESS_TEST_KEY'];
  expect(JSON.stringify(events)).toContain('****************.test');
  expect(JSON.stringify(events)).not.toMatch(/sesame/i);
});

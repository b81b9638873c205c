import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { duplexPair, type Duplex } from 'node:stream';
import { createLogger } from '../../../src/platform/log.ts';
import { createTermsOf, type TermsOfOptions } from '../../../src/sandbox/lifecycle/terms-of.ts';

const SECRET = 'Sesame-4711-öpen';
let home: string;
beforeAll(async () => (home = await mkdtemp(join(tmpdir(), 'longshore-egress-'))));
afterAll(() => rm(home, { recursive: true }));

/** What the guest does with its connection is done by `use`. Returns the events of the conversation as a text. */
async function eventsAfter(use: (connect: () => Duplex) => Promise<void>): Promise<string> {
  process.env['EGRESS_TEST_KEY'] = SECRET;
  const events: unknown[] = [];
  const row = {
    sandboxId: 'sbx_a',
    conversationId: 'conv_a',
    options: {
      egress: [{ host: 'keyed.test', headers: { authorization: 'x' } }],
      secrets: { KEY: '${env.EGRESS_TEST_KEY}', NONE: '${env.EGRESS_TEST_NONE}' },
    },
  };
  const store = { sandboxes: { get: async () => row }, events: { append: async (_id: string, added: unknown[]) => void events.push(...added) } };
  const options = {
    config: { LONGSHORE_HOME: home, LONGSHORE_EGRESS_ADDRESSES: '127.0.0.1' },
    store,
    log: createLogger({ LONGSHORE_LOG_LEVEL: 'silent' }),
    role: 'worker',
    resolve: async () => ['127.0.0.1'],
  };
  const { egress } = await createTermsOf(options as unknown as TermsOfOptions)('sbx_a');
  await use(() => {
    const [guest, worker] = duplexPair();
    egress?.accept(worker);
    return guest;
  });
  await egress?.close();
  delete process.env['EGRESS_TEST_KEY'];
  return JSON.stringify(events);
}

/** The first message of a TLS client that asks for a name, which may be longer than libraries allow. */
function helloFor(name: Buffer): Buffer {
  const sized = (bytes: number, ...parts: Buffer[]): Buffer => {
    const content = Buffer.concat(parts);
    const size = Buffer.alloc(bytes);
    size.writeUIntBE(content.length, 0, bytes);
    return Buffer.concat([size, content]);
  };
  const names = sized(2, Buffer.of(0), sized(2, name));
  const extensions = sized(2, Buffer.of(0, 0), sized(2, names));
  const message = sized(3, Buffer.of(3, 3), Buffer.alloc(32, 7), sized(1), sized(2, Buffer.of(0x13, 1)), sized(1, Buffer.of(0)), extensions);
  return Buffer.concat([Buffer.of(0x16, 3, 1), sized(2, Buffer.of(1), message)]);
}

test('a secret that a program writes into the name of a host is not in the events', async () => {
  const events = await eventsAfter(async (connect) => {
    for (const authority of [`${SECRET}.test`, `u:${SECRET}@a.test`]) {
      const guest = connect();
      guest.resume().end(`GET http://${authority}/ HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
      await once(guest, 'end');
    }
  });
  expect(events).toContain('*****************.test');
  expect(events).not.toMatch(/sesam|4711/i);
});

test('a secret or a control character in the name that TLS asks for is not in the events', async () => {
  const events = await eventsAfter(async (connect) => {
    for (const name of [Buffer.from(`${'x'.repeat(244)}${SECRET}`), Buffer.from(`a\u009B31m`, 'latin1'), Buffer.alloc(5000, 'long')]) {
      const guest = connect();
      guest.write('CONNECT keyed.test:443 HTTP/1.1\r\nHost: keyed.test:443\r\n\r\n');
      await once(guest, 'data');
      guest.resume().end(helloFor(name));
      await once(guest, 'end');
    }
  });
  expect(events).toContain('its TLS asks for the name \\\"xxxx');
  expect(events).toContain('a\uFFFD31m');
  expect(events).not.toMatch(/sesam|4711|[\u007F-\u009F]/i);
  expect(events.length).toBeLessThan(3000);
});

test('what a warm sandbox does outside is in the log of the conversation that has taken it over since its connection was opened', async () => {
  const row: { sandboxId: string; conversationId?: string; options: object } = { sandboxId: 'sbx_warm', options: { egress: [] } };
  const logged: string[] = [];
  const store = { sandboxes: { get: async () => ({ ...row }) }, events: { append: async (id: string) => void logged.push(id) } };
  const options = {
    config: { LONGSHORE_HOME: home, LONGSHORE_EGRESS_ADDRESSES: '' },
    store,
    log: createLogger({ LONGSHORE_LOG_LEVEL: 'silent' }),
    role: 'worker',
  };
  const { egress } = await createTermsOf(options as unknown as TermsOfOptions)('sbx_warm');
  row.conversationId = 'conv_claimed';
  const [guest, worker] = duplexPair();
  egress?.accept(worker);
  guest.resume().end('GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n');
  await once(guest, 'end');
  await egress?.close();
  expect(logged).toEqual(['conv_claimed']);
});

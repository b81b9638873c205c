import { X509Certificate } from 'node:crypto';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { createServer } from 'node:tls';
import { pino } from 'pino';
import { certifyClient, certifyHost, createAuthority, type Certified } from '../../src/certificates/certificates.ts';
import { failure } from '../../src/contracts/errors.ts';
import { CALL_PATH, SERVICE_NAME } from '../../src/hosts/channel/calls.ts';
import { readMessages } from '../../src/hosts/channel/messages.ts';
import { createSender } from '../../src/hosts/channel/sender.ts';
import { ask, download, upload } from '../../src/hosts/client/exchanges.ts';
import { createHostClient, type Target } from '../../src/hosts/client/host-client.ts';
import { serveHost } from '../../src/hosts/server/serve-host.ts';
import type { Sandboxes } from '../../src/sandbox/api/host-sandboxes.ts';
import type { SandboxHandle } from '../../src/sandbox/api/sandbox.ts';
import type { HostWorker } from '../../src/store/service/hosts.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { createTestDatabase, type TestDatabase } from '../support/databases.ts';

const log = pino({ level: 'silent' });
const TARGET: Target = { sandboxId: 'sbx_1', tenantId: 'north', conversationId: 'conv_1', hostId: 'here' };
const READ = { do: 'files.read', path: 'a' } as const;
const never = new AbortController().signal;

let database: TestDatabase;
let store: Store;
/** What the sandbox does; each test sets what it needs. */
let handle: Partial<SandboxHandle> = {};
let host: AsyncDisposable;
let worker: HostWorker;
beforeAll(async () => {
  database = await createTestDatabase({ sandboxes: 'invented' });
  store = await openStore({ url: database.url, log });
  const status = { state: 'idle' } as never;
  await store.conversations.create({ conversationId: 'conv_1', agentId: 'a', userId: 'u', tenantId: 'north', state: 'idle', status });
  const names = { containerName: 'c', volumeName: 'v', options: {} };
  const row = await store.sandboxes.ensure({ ...names, sandboxId: 'sbx_1', conversationId: 'conv_1', tenantId: 'north', state: 'creating', hostId: 'here' });
  await store.sandboxes.change('sbx_1', row.generation, { state: 'running' });
  const sandboxes = { open: async () => ({ handle }) } as unknown as Sandboxes;
  host = await serveHost({ config: { LONGSHORE_HOST_ADDRESS: '127.0.0.1:0', LONGSHORE_HOST_ID: 'here' }, store, sandboxes, agents: new Map(), log });
  [worker] = (await store.hosts.list('here')) as [HostWorker];
}, 60_000);
afterAll(async () => {
  await host[Symbol.asyncDispose]();
  expect(await store.hosts.list()).toEqual([]);
  await store[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
}, 60_000);

const client = () => createHostClient({ hosts: store.hosts, log });

/** Asks the worker as whoever has this certificate; the status, or why there is none. */
async function statusFor(own: Certified | undefined): Promise<number | string | undefined> {
  const { certificate: ca } = await store.hosts.authority(() => createAuthority('unused', new Date()));
  const { port } = new URL(`https://${worker.address}`);
  return new Promise((resolve) => {
    const sent = request(
      { host: '127.0.0.1', port, path: CALL_PATH, method: 'POST', servername: worker.workerId, ca, ...(own && { key: own.key, cert: own.certificate }) },
      (response) => {
        resolve(response.statusCode);
        response.destroy();
      },
    );
    sent.on('error', (error: NodeJS.ErrnoException) => resolve(error.code)).end();
  });
}

test('a worker answers the service of its installation, and no other caller', async () => {
  const authority = await store.hosts.authority(() => createAuthority('unused', new Date()));
  const now = new Date();
  const other = createAuthority('Longshore hosts', now);
  expect(await statusFor(certifyClient(SERVICE_NAME, authority, now))).toBe(200);
  expect(await statusFor(undefined)).toBe('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED');
  expect(await statusFor(certifyClient(SERVICE_NAME, other, now))).toMatch(/^E/);
  // What makes a worker a worker does not make it the service.
  expect(await statusFor(certifyHost(SERVICE_NAME, authority, now))).toMatch(/^E/);
  expect(await statusFor(certifyClient('somebody.longshore', authority, now))).toBe(403);
});

test('a worker compares the tenant and the conversation of a sandbox itself', async () => {
  for (const wrong of [{ tenantId: 'south' }, { conversationId: 'conv_2' }, { sandboxId: 'sbx_2' }]) {
    await expect(ask(client(), { ...TARGET, ...wrong }, { do: 'files.info', path: 'a' }, never)).rejects.toMatchObject({ code: 'SANDBOX_NOT_FOUND' });
  }
});

test('a worker that has not shown the certificate that it announced is not called, nor one whose time is over', async () => {
  const elsewhere = { ...worker, hostId: 'there' };
  const away = (hostId: string, problem: string) =>
    expect(ask(client(), { ...TARGET, hostId }, { do: 'files.info', path: 'a' }, never)).rejects.toMatchObject({ code: 'HOST_AWAY', values: { problem } });
  await store.hosts.announce({ ...elsewhere, workerId: 'worker-other.longshore' }, 60_000);
  await away('there', 'it cannot be reached');
  await store.hosts.withdraw('worker-other.longshore');
  await store.hosts.announce({ ...elsewhere, workerId: 'worker-another.longshore', fingerprint: '00' }, 0);
  await away('there', 'none is there');
});

test('a worker that dies when it has got a call, and before it answers, is away', async () => {
  const authority = await store.hosts.authority(() => createAuthority('unused', new Date()));
  const { key, certificate: cert } = certifyHost('worker-dying.longshore', authority, new Date());
  const dying = createServer({ key, cert }, (socket) => socket.once('data', () => socket.destroy()));
  await new Promise<void>((resolve) => dying.listen(0, '127.0.0.1', resolve));
  const { port } = dying.address() as AddressInfo;
  const { fingerprint256: fingerprint } = new X509Certificate(cert);
  await store.hosts.announce({ ...worker, workerId: 'worker-dying.longshore', address: `127.0.0.1:${port}`, hostId: 'dying', fingerprint }, 60_000);
  await using _ended = {
    async [Symbol.asyncDispose]() {
      await store.hosts.withdraw('worker-dying.longshore');
      dying.close();
    },
  };
  const asked = ask(client(), { ...TARGET, hostId: 'dying' }, { do: 'files.info', path: 'a' }, never);
  await expect(asked).rejects.toMatchObject({ code: 'HOST_AWAY', values: { sandboxId: 'sbx_1', problem: expect.stringMatching(/ECONNRESET|hang up/) } });
});

test('content passes piece by piece in both directions, and its end is known from a break', async () => {
  const info = { path: 'a', type: 'file', size: 10, mode: 0o644, modifiedAt: '', accessedAt: '', changedAt: '' } as const;
  let stored = '';
  handle = {
    fileInfo: async () => info,
    async *readFileStream() {
      yield Buffer.from('12345');
      yield Buffer.alloc(200_000, 'x');
    },
    async writeFile(_path, data) {
      for await (const chunk of data as AsyncIterable<Uint8Array>) stored += Buffer.from(chunk).toString();
    },
  };
  const { answer, content } = await download(client(), TARGET, READ, never);
  expect(answer).toEqual(info);
  let text = '';
  for await (const chunk of content) text += chunk.toString();
  expect(text).toBe(`12345${'x'.repeat(200_000)}`);
  async function* source() {
    for (let count = 0; count < 5; count += 1) yield Buffer.alloc(100_000, String(count));
  }
  expect(await upload(client(), TARGET, { do: 'files.write', path: 'a' }, source(), never)).toEqual(info);
  expect([stored.length, stored.at(0), stored.at(-1)]).toEqual([500_000, '0', '4']);
  handle.readFileStream = async function* () {
    yield Buffer.from('12345');
    throw failure('FILE_CHANGED', { path: 'a', problem: 'it was written' });
  };
  const broken = await download(client(), TARGET, READ, never);
  const readAll = async () => {
    for await (const _ of broken.content);
  };
  await expect(readAll()).rejects.toMatchObject({ code: 'FILE_CHANGED' });
});

test('what either side gives up ends at the other', async () => {
  let ended: (how: string) => void = () => undefined;
  const end = () => new Promise<string>((resolve) => (ended = resolve));
  handle = {
    fileInfo: async () => ({ path: 'a', type: 'file', size: 1e12, mode: 0o644, modifiedAt: '', accessedAt: '', changedAt: '' }),
    async *readFileStream() {
      try {
        for (;;) yield Buffer.alloc(100_000);
      } finally {
        ended('read');
      }
    },
    async writeFile(_path, data) {
      try {
        for await (const _ of data as AsyncIterable<Uint8Array>);
      } catch {
        ended('written');
        throw failure('FILE_FAILED', { path: 'a', problem: 'broken off' });
      }
    },
  };
  const leaving = new AbortController();
  const [readEnd, { content }] = [end(), await download(client(), TARGET, READ, leaving.signal)];
  await content.next();
  leaving.abort();
  expect(await readEnd).toBe('read');
  const writeEnd = end();
  async function* source() {
    yield Buffer.alloc(100_000);
    throw new Error('the sender has gone');
  }
  await expect(upload(client(), TARGET, { do: 'files.write', path: 'a' }, source(), never)).rejects.toMatchObject({ code: 'HOST_AWAY' });
  expect(await writeEnd).toBe('written');
  handle.writeFile = async () => {
    throw failure('FILE_FAILED', { path: 'a', problem: 'there is no space left' });
  };
  async function* endless() {
    for (;;) yield Buffer.alloc(100_000);
  }
  const refused = upload(client(), TARGET, { do: 'files.write', path: 'a' }, endless(), never);
  await expect(refused).rejects.toMatchObject({ code: 'FILE_FAILED', values: { problem: 'there is no space left' } });
});

test('pieces of data stay together and in order when the sender does not wait for each', async () => {
  const through = new PassThrough({ highWaterMark: 1 });
  const sender = createSender(through);
  const pieces = ['a', 'b', 'c'].map((letter) => Buffer.alloc(200_000, letter));
  const sent = Promise.all(pieces.map((piece) => sender.data(piece))).then(() => sender.json({ last: true }));
  let received = '';
  for await (const message of readMessages(through)) {
    if (message.kind === 'data') received += message.bytes.toString();
    else {
      expect(message.value).toEqual({ last: true });
      sender.end();
    }
  }
  await sent;
  expect(received).toBe(pieces.map(String).join(''));
});

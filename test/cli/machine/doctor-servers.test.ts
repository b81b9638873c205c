import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Client, Connection } from '@temporalio/client';
import { certifyHost, createAuthority } from '../../../src/certificates/certificates.ts';
import type { DoctorLine } from '../../../src/cli/machine/doctor-line.ts';
import { serviceLines } from '../../../src/cli/machine/doctor-service.ts';
import { temporalLines } from '../../../src/cli/machine/doctor-temporal.ts';
import { createPayloadCodec } from '../../../src/client/temporal/payload-codec.ts';
import { loadConfig } from '../../../src/platform/config.ts';
import { freePort } from '../../../src/setup/ports.ts';
import { readEncryptionKeys } from '../../../src/platform/encryption-keys.ts';

const config = loadConfig();
const named = (lines: DoctorLine[], name: string) => lines.find((line) => line.name === name);

describe('what Temporal tells', () => {
  test('each line is about the real server and its namespace', async () => {
    const lines = await temporalLines({ ...config, LONGSHORE_TASK_QUEUE: `none-${randomBytes(4).toString('hex')}` });
    expect(lines.map(({ name, ok }) => [name, ok])).toEqual([
      ['Temporal', 'ok'],
      ['Search attributes', 'ok'],
      ['Encryption keys', 'ok'],
      ['Updates', 'ok'],
      ['Payload limits', 'ok'],
      ['Retention', 'ok'],
    ]);
    expect(named(lines, 'Temporal')?.found).toMatch(/^server \d+\.\d+\.\d+ at \S+, data in \w+, lists in \w+; schedules, .*eager start/);
    expect(named(lines, 'Updates')?.found).toMatch(/^updates, updates that are waited for later/);
    expect(named(lines, 'Encryption keys')?.found).toBe('this machine has none; there is no conversation to compare with');
    expect(named(lines, 'Retention')?.found).toMatch(
      /^Temporal keeps histories for \d+(\.\d)? days after the end; conversations are kept \(LONGSHORE_RETENTION=0\)$/,
    );
  });

  test('a namespace that is not there is missing', async () => {
    const lines = await temporalLines({ ...config, TEMPORAL_NAMESPACE: 'no-such-namespace' });
    expect(lines).toEqual([
      expect.objectContaining({ name: 'Temporal', ok: 'missing', found: expect.stringContaining('the namespace "no-such-namespace" at') as string }),
    ]);
  });

  test('keys that cannot decrypt what other processes write are told, without a key', async () => {
    const key = (id: string) => `${id}:${randomBytes(32).toString('base64')}`;
    const [ours, other] = [key('ours'), key('other')];
    const taskQueue = `doctor-${randomBytes(4).toString('hex')}`;
    const connection = await Connection.connect({ address: config.TEMPORAL_ADDRESS });
    const { workflow } = new Client({ connection, dataConverter: { payloadCodecs: [createPayloadCodec(readEncryptionKeys(ours))] } });
    const handle = await workflow.start('conversation', { workflowId: taskQueue, taskQueue, staticSummary: 'fixer for user' });
    const lineWith = async (keys: string) => {
      const lines = await temporalLines({ ...config, LONGSHORE_TASK_QUEUE: taskQueue, LONGSHORE_ENCRYPTION_KEYS: keys });
      expect(JSON.stringify(lines)).not.toContain(ours.slice(5));
      return named(lines, 'Encryption keys');
    };
    try {
      while ((await workflow.count(`TaskQueue = '${taskQueue}'`)).count === 0) await new Promise((resolve) => setImmediate(resolve));
      expect(await lineWith(ours)).toMatchObject({ ok: 'ok', found: 'this machine encrypts with "ours"; the newest conversation can be decrypted' });
      expect(await lineWith(`none,${ours}`)).toMatchObject({ ok: 'ok', found: 'this machine only decrypts; the newest conversation can be decrypted' });
      expect(await lineWith(other)).toMatchObject({
        ok: 'missing',
        found: expect.stringMatching(/the newest conversation cannot be decrypted \(.*"ours"/) as string,
      });
    } finally {
      await handle.terminate();
      await connection.close();
    }
  });
});

/** A server of one test, and its address. */
async function serving<T>(server: ReturnType<typeof createServer>, work: (port: number) => Promise<T>): Promise<T> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  try {
    return await work((server.address() as AddressInfo).port);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}
const ready: RequestListener = ({ url }, response) => void response.end(url === '/base/readyz' ? 'ok\n' : 'another program');
const publicLine = async (LONGSHORE_PUBLIC_URL?: string) =>
  named(await serviceLines({ LONGSHORE_API_ADDRESS: '0.0.0.0:8280', LONGSHORE_TEMPORAL_LINKS: 'no', LONGSHORE_PUBLIC_URL }), 'Public address');

describe('where the HTTP service is reached', () => {
  test('a service that answers, one that does not, and another program are told apart', async () => {
    await serving(createServer(ready), async (port) => {
      expect(await publicLine(`http://127.0.0.1:${port}/base/`)).toEqual({ name: 'Public address', ok: 'ok', found: `http://127.0.0.1:${port}/base, reached` });
      expect(await publicLine(`http://127.0.0.1:${port}`)).toMatchObject({
        ok: 'warning',
        found: `http://127.0.0.1:${port}/: /readyz answers 200 "another program"`,
      });
    });
    expect(await publicLine(`http://127.0.0.1:${await freePort()}`)).toMatchObject({
      ok: 'warning',
      found: expect.stringContaining('is not reached from this machine: connect ECONNREFUSED') as string,
    });
    expect(await publicLine()).toMatchObject({ ok: 'ok', found: expect.stringContaining('not set') as string });
  });

  test('a certificate that is not trusted is told', async () => {
    const { key, certificate } = certifyHost('longshore.example', createAuthority('test', new Date()), new Date());
    await serving(createTlsServer({ key, cert: certificate }, ready), async (port) => {
      expect(await publicLine(`https://127.0.0.1:${port}/base`)).toMatchObject({
        ok: 'warning',
        found: expect.stringMatching(/is not reached .*certificate/) as string,
      });
    });
  });
});

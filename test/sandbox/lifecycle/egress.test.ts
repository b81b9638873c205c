import { X509Certificate } from 'node:crypto';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '../../../src/platform/run-command.ts';
import type { SandboxHandle } from '../../../src/sandbox/api/sandbox.ts';
import { newConversation } from '../../store/support.ts';
import { heldBytes } from '../../support/held-memory.ts';
import { FLOOD_BYTES, startOutside, type Outside } from './outside.ts';
import { createTestSandboxes, output, until, type TestSandboxes } from './support.ts';

const SECRET = 'sesame-4711-open';
const sandboxId = 'sbx_egress';
let home: string;
let outside: Outside;
let parts: TestSandboxes;
let handle: SandboxHandle;
let conversationId: string;
let http: number;
let https: number;
let egress: NonNullable<Parameters<TestSandboxes['sandboxes']['open']>[1]['egress']>;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'longshore-egress-'));
  process.env['EGRESS_TEST_SECRET'] = SECRET;
  outside = await startOutside();
  ({ http, https } = outside.ports);
  parts = await createTestSandboxes({
    config: { LONGSHORE_HOME: home, LONGSHORE_EGRESS_ADDRESSES: '127.0.0.1' },
    terms: { resolve: outside.resolve, trust: { ca: outside.ca } },
  });
  conversationId = await newConversation(parts.store);
  egress = [
    { host: 'open.test', ports: [http, https] },
    { host: 'keyed.test', ports: [http, https], cleartext: true, headers: { Authorization: 'Bearer ${env.EGRESS_TEST_SECRET}' } },
    { host: 'unkeyed.test', ports: [http], cleartext: true, headers: { authorization: 'Bearer ${env.EGRESS_TEST_NOT_SET}' } },
    ...['*.wild.test', 'rebound.test', 'inside.test', 'mixed.test', 'unknown.test', '10.1.2.3'].map((host) => ({ host, ports: [http] })),
    { host: 'closed.test', ports: [outside.ports.other] },
  ];
  ({ handle } = await parts.sandboxes.open({ sandboxId, conversationId, tenantId: 't' }, { egress }));
});
afterAll(async () => {
  await parts[Symbol.asyncDispose]();
  await outside[Symbol.asyncDispose]();
  await rm(home, { recursive: true });
  delete process.env['EGRESS_TEST_SECRET'];
});

async function curl(rest: string): Promise<string> {
  const { stdout, stderr } = await handle.run(`curl --silent --show-error --max-time 30 ${rest}`);
  return stdout.text + stderr.text;
}

test('hosts on the list answer over http and through tunnels that are not decrypted', async () => {
  expect(await curl(`http://open.test:${http}/hello`)).toBe('hello from open.test');
  expect(await curl(`http://a.wild.test:${http}/`)).toBe('hello from a.wild.test');
  const encrypted = await curl(`--verbose --insecure https://open.test:${https}/`);
  expect(encrypted).toContain('hello from open.test');
  // The certificate is of the host's own authority, not of the worker's.
  expect(encrypted).toContain(`issuer: ${new X509Certificate(outside.ca).subject}`);
  expect(await curl(`--data-binary @/bin/bash http://open.test:${http}/upload`)).toBe('hello from open.test');
  expect(String(outside.requests.at(-1)?.body)).toBe(await output(handle, 'stat -Lc %s /bin/bash'));
});

test.each([
  ['http://elsewhere.test:HTTP/', 'elsewhere.test:HTTP: this host is not on the list of the sandbox'],
  ['http://open.test:1/', 'open.test:1: of this host only port HTTP, HTTPS is on the list'],
  ['http://wild.test:HTTP/', 'wild.test:HTTP: this host is not on the list of the sandbox'],
  ['http://127.0.0.1.:HTTP/', 'of this host name, it ends in a dot'],
  ['http://open_test:HTTP/', 'open_test:HTTP: this host is not on the list of the sandbox'],
  ['http://169.254.169.254/latest/meta-data/', '169.254.169.254:80: this host is not on the list of the sandbox'],
  ['http://10.1.2.3:HTTP/', '10.1.2.3:HTTP: this address is not public (private)'],
  ['http://inside.test:HTTP/', 'inside.test:HTTP: it resolves to 169.254.169.254, which is not public (linkLocal)'],
  ['http://mixed.test:HTTP/', 'mixed.test:HTTP: it resolves to 10.0.0.1, which is not public (private)'],
  ['http://unknown.test:HTTP/', 'unknown.test:HTTP: the name cannot be resolved (no such name)'],
  ['http://unkeyed.test:HTTP/', 'the credential for unkeyed.test is not set (EGRESS_TEST_NOT_SET)'],
  ['--request TRACE http://keyed.test:HTTP/', 'the method TRACE is not supported'],
])('%s is refused: %s', async (request, why) => {
  const fill = (text: string) => text.replaceAll('HTTPS', String(https)).replaceAll('HTTP', String(http));
  // Loopback is not taken out: what is asked of the proxy is what counts.
  expect(await curl(`--noproxy '' ${fill(request)}`)).toBe(`Longshore egress: ${fill(why)}\n`);
});

test('a tunnel to what is not on the list is refused with the reason, and so is what is not HTTP', async () => {
  expect(await curl(`--verbose https://elsewhere.test:${https}/`)).toContain('403 Forbidden (elsewhere.test:');
  const speak = (bytes: string) => `python3 -c "
import os, socket
s = socket.create_connection(('127.0.0.1', 15080)); s.sendall(${bytes}); s.shutdown(socket.SHUT_WR)
print(b''.join(iter(lambda: s.recv(65536), b'')).decode())"`;
  const raw = async (bytes: string) => output(handle, speak(bytes));
  expect(await raw(String.raw`b'CONNECT open.test\\0.elsewhere.test:443 HTTP/1.1\\r\\n\\r\\n'`)).toContain(
    '400 Bad Request (the request has a NUL byte in its head)',
  );
  expect(await raw(String.raw`b'CONNECT open.test@elsewhere.test:443 HTTP/1.1\\r\\n\\r\\n'`)).toContain('403 Forbidden (this is not a host with a port)');
  expect(await raw(String.raw`b'CONNECT 2130706433:80 HTTP/1.1\\r\\n\\r\\n'`)).toContain('it is an address in an unusual form');
  expect(await raw(String.raw`b'SSH-2.0-nothing\\r\\n\\r\\n'`)).toContain('400 Bad Request (this is not HTTP)');
  expect(await raw(String.raw`b'GET / HTTP/1.1\\r\\nHost: open.test\\r\\n\\r\\n'`)).toContain('this is a proxy');
  expect(await curl(`http://closed.test:${outside.ports.other}/`)).toContain('closed.test cannot be reached or closed the connection (connect ECONNREFUSED');
});

test('a name that changes its mind is judged again for each connection', async () => {
  expect(await curl(`http://rebound.test:${http}/`)).toBe('hello from rebound.test');
  expect(await curl(`http://rebound.test:${http}/`)).toContain('it resolves to 127.0.0.2, which is not public (loopback)');
});

test('a redirect is judged like a first request, and takes no credential along', async () => {
  const to = (host: string) => `http://keyed.test:${http}/redirect?to=${encodeURIComponent(`http://${host}:${http}/next`)}`;
  expect(await curl(`--location '${to('elsewhere.test')}'`)).toContain('this host is not on the list');
  expect(await curl(`--location '${to('open.test')}'`)).toBe('hello from open.test');
  const [first, second] = outside.requests.slice(-2);
  expect(first).toMatchObject({ host: 'keyed.test', authorization: `Bearer ${SECRET}` });
  expect(second).toMatchObject({ host: 'open.test', path: '/next', authorization: undefined });
});

test('credentials are added outside, over http and https, in place of what the guest sends', async () => {
  for (const url of [`https://keyed.test:${https}/a`, `http://keyed.test:${http}/b`, `--proxytunnel http://keyed.test:${http}/c`]) {
    expect(await curl(`--header 'authorization: Bearer mine' ${url}`)).toBe('hello from keyed.test');
    expect(outside.requests.at(-1)?.authorization).toBe(`Bearer ${SECRET}`);
  }
  expect(await curl(`--header 'host: elsewhere.test' https://keyed.test:${https}/`)).toContain('the request to another host');
});

test('credentials and the key that vouches for hosts are nowhere in the sandbox, its definition or the database', async () => {
  const key = /-----BEGIN PRIVATE KEY-----\n(.+)\n/.exec(await readFile(join(home, 'egress-authority.pem'), 'utf8'))?.[1] ?? '';
  expect((await stat(join(home, 'egress-authority.pem'))).mode & 0o777).toBe(0o600);
  const found = await handle.run(
    `env | grep -e ${SECRET} -e '${key}'; grep -r -s -l -e ${SECRET.slice(0, -1)}[n] -e '${key.slice(0, -1)}[${key.slice(-1)}]' /run /home /tmp /opt /etc`,
  );
  expect(found.stdout.text.split('\n').filter((line) => !line.startsWith('/home/.longshore/execs/'))).toEqual(['']);
  const definition = await parts.docker.getContainer(parts.containerName(sandboxId)).inspect();
  expect(JSON.stringify(definition)).not.toContain(SECRET);
  expect(JSON.stringify(await parts.store.sandboxes.get(sandboxId))).not.toContain(SECRET);
  expect(JSON.stringify(await parts.store.events.read(conversationId, 0))).not.toContain(SECRET);
});

test.each([
  ['Python', `python3 -c "import urllib.request as r; print(r.urlopen('URL').read().decode())"`],
  ["Node's fetch", `node -e "fetch('URL').then((r) => r.text()).then(console.log)"`],
  ["Node's https", `node -e "require('https').get('URL', (r) => r.on('data', (d) => console.log(String(d))))"`],
])('%s goes through by itself', async (_program, command) => {
  expect(await output(handle, command.replace('URL', `https://keyed.test:${https}/`))).toBe('hello from keyed.test');
});

test('npm goes through by itself, and need not know the credential', async () => {
  const view = `npm view thing version --registry https://keyed.test:${https}/npm/ --fetch-retries 0 --cache /tmp/npm --no-update-notifier`;
  expect(await output(handle, view)).toBe('1.2.3');
  expect(outside.requests.at(-1)).toMatchObject({ path: '/npm/thing', authorization: `Bearer ${SECRET}` });
});

test('git goes through by itself, and need not know the credential', async () => {
  await handle.run(`git ls-remote https://keyed.test:${https}/project.git`);
  expect(outside.requests.at(-1)).toMatchObject({ path: '/project.git/HEAD', authorization: `Bearer ${SECRET}` });
});

test("a server of the sandbox's own is reached without the proxy", async () => {
  const serve = `python3 -c "
import http.server, threading, urllib.request
server = http.server.HTTPServer(('127.0.0.1', 8099), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
import subprocess
print(urllib.request.urlopen('http://127.0.0.1:8099/').status, end=' ', flush=True)
subprocess.run(['node', '-e', 'fetch(\\'http://localhost:8099/\\').then((r) => console.log(r.status))'])" 2>/dev/null`;
  expect(await output(handle, serve)).toBe('200 200');
});

test('a program gets out while others hold more connections than there may be, and say nothing', async () => {
  const hold = `python3 -c "
import socket, time
held = [socket.create_connection(('127.0.0.1', 15080)) for _ in range(400)]
open('/tmp/held', 'w').close()
time.sleep(60)"`;
  const { execId } = await handle.start(hold);
  await until(() => handle.fileExists('/tmp/held'), 'the connections are there');
  for (let count = 0; count < 3; count += 1) expect(await curl(`http://open.test:${http}/hello`)).toBe('hello from open.test');
  await handle.kill(execId, 'SIGKILL');
});

test('a large transfer is whole, waits for its reader, and does not grow the worker', async () => {
  const before = heldBytes();
  let most = 0;
  const look = () => (most = Math.max(most, heldBytes() - before));
  const started = await handle.start(
    `curl --silent http://open.test:${http}/flood | { until [ -e /tmp/read ]; do sleep 0.05; done; wc -c; } > /tmp/flooded; mv /tmp/flooded /tmp/counted`,
  );
  let last = -1;
  await until(async () => {
    const now = outside.flooded();
    const stands = now > 0 && now === last;
    last = now;
    // Some work of the sandbox lies between two looks.
    await output(handle, 'sleep 0.3');
    return stands;
  }, 'the server is held back');
  expect(last).toBeLessThan(FLOOD_BYTES / 4);
  look();
  await output(handle, 'touch /tmp/read');
  let passed = last;
  await Promise.all([
    handle.attach(started.execId),
    until(async () => {
      if (outside.flooded() - passed > FLOOD_BYTES / 8) {
        passed = outside.flooded();
        look();
      }
      return outside.flooded() >= FLOOD_BYTES;
    }, 'all of it is on its way'),
  ]);
  look();
  expect(await output(handle, 'cat /tmp/counted')).toBe(String(FLOOD_BYTES));
  expect(most).toBeLessThan(FLOOD_BYTES / 4);
});

test('a download that loses its worker fails, and the next goes through another', async () => {
  const second = parts.another();
  const { handle: other } = await second.open({ sandboxId, conversationId, tenantId: 't' }, {});
  await other.start(`curl --silent --output /tmp/stalled http://open.test:${http}/stall; echo $? > /tmp/code.new; mv /tmp/code.new /tmp/code`);
  await until(async () => outside.requests.at(-1)?.path === '/stall', 'the download has begun');
  await second[Symbol.asyncDispose]();
  await until(() => handle.fileExists('/tmp/code'), 'the download has ended');
  expect(Number(await output(handle, 'cat /tmp/code'))).toBeGreaterThan(0);
  expect(await curl(`http://open.test:${http}/hello`)).toBe('hello from open.test');
});

test('without any worker a connection waits a little and is then refused in plain words', async () => {
  const lone = parts.another();
  const owner = parts.newOwner();
  const { handle: only } = await lone.open(owner, { egress });
  await only.start(`until curl --silent http://open.test:${http}/ | tee -a /tmp/said | grep 'no worker'; do sleep 0.1; done`, { timeoutMs: 0 });
  await until(async () => (await output(only, 'cat /tmp/said')).startsWith('hello'), 'it reaches the host');
  await lone[Symbol.asyncDispose]();
  const said = async () => (await runCommand('docker', ['exec', parts.containerName(owner.sandboxId), 'cat', '/tmp/said'])).stdout;
  const refusal = 'no worker is connected to this sandbox, so nothing can leave it now';
  await until(async () => (await said()).includes(refusal), 'it is refused');
  // Who only visits it has not what the rules need, and lets nothing out.
  const visited = await parts.another({ role: 'visitor' }).open(owner, { egress });
  expect(await output(visited.handle, `curl --silent http://open.test:${http}/`)).toContain(refusal);
  const again = await parts.sandboxes.open(owner, {});
  expect(await output(again.handle, `curl --silent http://open.test:${http}/`)).toBe('hello from open.test');
});

test('every decision is in the events, and a flood of them is a few lines', async () => {
  await handle.run(`for i in $(seq 100); do curl --silent --output /dev/null http://elsewhere.test:${http}/; done`);
  await parts.sandboxes[Symbol.asyncDispose]();
  const events = await parts.store.events.read(conversationId, 0);
  const lines = events.flatMap((event) => (event.type === 'sandbox.egress' ? event.data.decisions : []));
  const refused = lines.filter((line) => line.host === 'elsewhere.test' && line.port === http);
  expect(refused[0]).toMatchObject({ decision: 'refused', why: 'this host is not on the list of the sandbox' });
  expect(refused.reduce((sum, line) => sum + line.connections, 0)).toBeGreaterThanOrEqual(100);
  expect(refused.length).toBeLessThan(20);
  const allowed = lines.filter((line) => line.host === 'open.test' && line.decision === 'allowed');
  expect(allowed.reduce((sum, line) => sum + line.receivedBytes, 0)).toBeGreaterThanOrEqual(FLOOD_BYTES);
});

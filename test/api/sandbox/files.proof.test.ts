import { request, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { loadConfig } from '../../../src/platform/config.ts';
import { createLogger } from '../../../src/platform/log.ts';
import { createDockerSandboxes } from '../../../src/sandbox/lifecycle/docker-sandboxes.ts';
import { until } from '../../e2e/support.ts';
import { openSandboxService, type SandboxService } from './support.ts';

let service: SandboxService;
beforeAll(async () => {
  service = await openSandboxService();
}, 180_000);
afterAll(async () => {
  await service[Symbol.asyncDispose]();
}, 180_000);

const ask: SandboxService['ask'] = (path, init) => service.ask(`/files/${path}`, init);
const put = (path: string, body: string | Uint8Array, query = '') => ask(`${path}${query}`, { method: 'PUT', body });
const problemOf = async (answer: Response) => [answer.status, ((await answer.json()) as { code: string }).code];

test('a file goes up and comes down through a service that has no Docker, byte for byte', async () => {
  const bytes = new Uint8Array(9_000_000).map((_, index) => (index * 7919) >> 5);
  const written = await put('deep/er/bytes.bin', bytes, '?mode=640');
  expect([written.status, await written.json()]).toEqual([
    200,
    expect.objectContaining({ path: expect.stringContaining('deep/er/bytes.bin') as string, type: 'file', size: bytes.length, mode: 0o640 }),
  ]);
  const read = await ask('deep/er/bytes.bin');
  expect(Buffer.from(await read.arrayBuffer()).equals(bytes)).toBe(true);
  expect(await (await ask('made.txt')).text()).toBe('made\n');
  expect(await (await ask('%2Fhome/user/made.txt')).text()).toBe('made\n');
  expect((await put('empty', '')).status).toBe(200);
  expect(await (await ask('empty')).text()).toBe('');
  expect((await put('some.json', '{"a": 1')).status).toBe(200);
  expect(await (await ask('some.json')).text()).toBe('{"a": 1');
});

test('no file of a sandbox can become a page of the service', async () => {
  await put('page%20%22%0A.html', '<script>alert(1)</script>');
  const { headers } = await ask('page%20%22%0A.html');
  expect(Object.fromEntries(headers)).toMatchObject({
    'content-type': 'application/octet-stream',
    'content-disposition': `attachment; filename="page___.html"; filename*=UTF-8''page%20%22%0A.html`,
    'content-security-policy': "sandbox; default-src 'none'",
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  });
});

test('ranges give a part, also to one that continues a download', async () => {
  await put('digits', '0123456789');
  const part = async (range: string, more: Record<string, string> = {}) => {
    const answer = await ask('digits', { headers: { range, ...more } });
    return [answer.status, answer.headers.get('content-range'), await answer.text()];
  };
  expect(await part('bytes=2-4')).toEqual([206, 'bytes 2-4/10', '234']);
  expect(await part('bytes=7-')).toEqual([206, 'bytes 7-9/10', '789']);
  expect(await part('bytes=-3')).toEqual([206, 'bytes 7-9/10', '789']);
  expect(await part('bytes=5-99')).toEqual([206, 'bytes 5-9/10', '56789']);
  expect(await part('bytes=0-1,4-5')).toEqual([200, null, '0123456789']);
  expect(await part('bytes=4-2')).toEqual([200, null, '0123456789']);
  expect((await part('bytes=10-')).slice(0, 2)).toEqual([416, 'bytes */10']);
  const { headers } = await ask('digits');
  const etag = headers.get('etag') ?? '';
  expect(await part('bytes=7-', { 'if-range': etag })).toEqual([206, 'bytes 7-9/10', '789']);
  await put('digits', 'abcdefghij');
  expect(await part('bytes=7-', { 'if-range': etag })).toEqual([200, null, 'abcdefghij']);
});

test('what is no file, or cannot be read, is not taken for an empty one; a file of the kernel has what it has', async () => {
  const body = JSON.stringify({ command: 'mkfifo pipe; touch closed; chmod 000 closed; ln -s /proc/cpuinfo linked' });
  const made = await service.ask('/commands?wait=30', { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  expect(await made.json()).toMatchObject({ result: { exitCode: 0 } });
  for (const path of ['pipe', '%2Fdev/zero', 'closed']) expect(await problemOf(await ask(path))).toEqual([400, 'FILE_FAILED']);
  const kernel = await ask('%2Fproc/cpuinfo');
  const text = await kernel.text();
  expect([kernel.status, Number(kernel.headers.get('content-length')), text]).toEqual([200, text.length, expect.stringContaining('processor')]);
  expect(await (await ask('linked')).text()).toContain('processor');
  expect((await ask('%2Fproc/cpuinfo', { headers: { range: 'bytes=0-3' } })).status).toBe(200);
});

test('who downloads many files at the same time and reads none is refused further ones, until some have ended', async () => {
  expect((await put('long', new Uint8Array(30_000_000))).status).toBe(200);
  const leaving = new AbortController();
  const download = () => ask('long', { signal: leaving.signal });
  const answers = await Promise.all(Array.from({ length: 101 }, download));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(100);
  const refused = answers.find(({ status }) => status !== 200);
  expect(await problemOf(refused!)).toEqual([429, 'DOWNLOAD_LIMIT']);
  expect((await ask('long?info')).status).toBe(200);
  leaving.abort();
  await Promise.allSettled(answers.map((answer) => answer.text()));
  await until(async () => (await (await ask('digits')).text()) === 'abcdefghij', 'there is room again');
}, 120_000);

test('directories are made, listed, renamed and removed', async () => {
  const post = (path: string, body: object) => ask(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  expect(await (await post('tree/leaf', { action: 'createDirectory' })).json()).toMatchObject({ type: 'directory' });
  await put('tree/leaf/a.md', 'a');
  await put('tree/b.txt', 'b');
  const names = async (query: string) => {
    const { entries } = (await (await ask(`tree?${query}`)).json()) as { entries: { path: string }[] };
    return entries.map(({ path }) => path.replace(/.*tree\//, '')).toSorted();
  };
  expect(await names('list')).toEqual(['b.txt', 'leaf']);
  expect(await names('list&recursive')).toEqual(['b.txt', 'leaf', 'leaf/a.md']);
  expect(await names('list&recursive&pattern=*.md')).toEqual(['leaf/a.md']);
  expect(await names('list&recursive&limit=1')).toHaveLength(1);
  expect(await (await ask('tree/b.txt?info')).json()).toMatchObject({ type: 'file', size: 1, encoding: 'utf-8' });
  expect((await post('tree/b.txt', { action: 'rename', to: 'tree/c.txt' })).status).toBe(200);
  expect(await names('list')).toEqual(['c.txt', 'leaf']);
  expect(await problemOf(await ask('tree', { method: 'DELETE' }))).toEqual([400, 'FILE_FAILED']);
  expect((await ask('tree?recursive', { method: 'DELETE' })).status).toBe(204);
  expect(await problemOf(await ask('tree?list'))).toEqual([404, 'FILE_NOT_FOUND']);
});

/** Sends a path as it is: `fetch` would change it. */
async function raw(path: string): Promise<[number | undefined, string]> {
  const headers = await service.key(['files:read', 'files:write'], 'north');
  const sent = request(service.server.url, { path: `/v1/conversations/${service.id}/files/${path}`, headers }).end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of answer) text += String(chunk);
  return [answer.statusCode, answer.statusCode === 200 ? text : (JSON.parse(text) as { code: string }).code];
}

test('odd paths mean a file of the sandbox, or are refused', async () => {
  for (const name of ['back\\slash', 'new\nline', 'per%cent', 'ünï', ' ', '..a', '-rf', 'semi;colon', "quo'te", 'a?b#c']) {
    await put(encodeURIComponent(name), name);
    expect(await (await ask(encodeURIComponent(name))).text()).toBe(name);
  }
  expect(await raw('../made.txt')).toEqual([400, 'INVALID_ARGUMENT']);
  expect(await raw('..%2f..%2fetc/passwd')).toEqual([400, 'INVALID_ARGUMENT']);
  expect(await raw('a/%2e%2e/made.txt')).toEqual([400, 'INVALID_ARGUMENT']);
  expect(await raw('made.txt%00')).toEqual([400, 'INVALID_ARGUMENT']);
  expect(await raw('%ff')).toEqual([400, 'INVALID_ARGUMENT']);
  expect(await raw('/home/user/made.txt')).toEqual([200, 'made\n']);
  expect(await raw('')).toEqual([400, 'FILE_FAILED']);
  expect((await raw('a'.repeat(4000)))[0]).toBe(400);
  expect((await raw('%61'.repeat(4097)))[0]).toBe(400);
  expect(await raw('absent')).toEqual([404, 'FILE_NOT_FOUND']);
  expect(await raw('%2Fetc%2Fshadow')).toEqual([400, 'FILE_FAILED']);
});

test('an upload that breaks off changes nothing and leaves nothing', async () => {
  await put('kept/file', 'before');
  const headers = await service.key(['files:write'], 'north');
  const sent = request(`${service.server.url}/v1/conversations/${service.id}/files/kept/file`, { method: 'PUT', headers });
  sent.on('error', () => undefined);
  for (let count = 0; count < 80; count += 1) if (!sent.write(Buffer.alloc(100_000, 'x'))) await once(sent, 'drain');
  sent.destroy();
  const names = async () => ((await (await ask('kept?list')).json()) as { entries: { path: string }[] }).entries.length;
  await until(async () => (await names()) === 1, 'the upload is withdrawn');
  expect(await (await ask('kept/file')).text()).toBe('before');
});

test('what may not be done is refused: by scope, by tenant, and before there is a sandbox', async () => {
  const { id, server, installation } = service;
  const key: SandboxService['key'] = (scopes, tenant) => service.key(scopes, tenant);
  const url = `${server.url}/v1/conversations/${id}/files/made.txt`;
  expect(await problemOf(await fetch(url, { headers: await key(['conversations:read'], 'north') }))).toEqual([403, 'SCOPE_MISSING']);
  expect(await problemOf(await fetch(url, { method: 'PUT', body: 'x', headers: await key(['files:read'], 'north') }))).toEqual([403, 'SCOPE_MISSING']);
  expect(await problemOf(await fetch(url, { headers: await key(['files:read'], 'south') }))).toEqual([404, 'CONVERSATION_NOT_FOUND']);
  const { id: bare } = await installation.longshore.start({ agent: 'scripted', user: 'user-1', tenant: 'north' });
  const none = await fetch(url.replace(id, bare), { headers: await key(['files:read'], 'north') });
  expect(await problemOf(none)).toEqual([404, 'SANDBOX_ABSENT']);
  await installation.longshore.close(bare);
});

test('a sandbox that rests is woken, and rests again afterwards', async () => {
  const { installation, id } = service;
  const row = async () => (await installation.store.sandboxes.ofConversation(id))!;
  const config = { ...loadConfig(), LONGSHORE_INSTALLATION: installation.name };
  await using visitor = createDockerSandboxes({ config, store: installation.store, log: createLogger({ LONGSHORE_LOG_LEVEL: 'error' }), role: 'visitor' });
  await until(async () => (await visitor.freeze((await row()).sandboxId)) === 'frozen', 'the sandbox rests');
  expect(await (await ask('made.txt')).text()).toBe('made\n');
  expect((await row()).state).toBe('running');
  await until(async () => (await row()).state === 'frozen', 'the sandbox rests again');
}, 60_000);

test('without a worker of its host, a sandbox cannot be reached, and is as soon as there is one', async () => {
  await service.worker.stop();
  const answer = await ask('made.txt');
  expect([answer.status, await answer.json()]).toEqual([
    503,
    expect.objectContaining({
      code: 'HOST_AWAY',
      retryable: true,
      detail: expect.stringMatching(/^No worker of the host of sandbox "sbx_\w+" answers: none is there\. Try again; an operator starts one/) as string,
    }),
  ]);
  const next = service.installation.startWorker();
  await next.ready;
  expect(await (await ask('made.txt')).text()).toBe('made\n');
  // Killed, it is still listed for a while.
  await next.kill();
  expect(await problemOf(await ask('made.txt'))).toEqual([503, 'HOST_AWAY']);
  await service.installation.startWorker().ready;
  expect(await (await ask('made.txt')).text()).toBe('made\n');
}, 120_000);

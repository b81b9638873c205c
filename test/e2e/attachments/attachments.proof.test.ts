import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { connect, type Chat, type Longshore } from '../../../src/client.ts';
import type { JsonObject } from '../../../src/contracts/json.ts';
import type { StoredEntry } from '../../../src/contracts/transcript.ts';
import { startApi, type TestApi } from '../../api/support.ts';
import { chatChunks, sendEvents, startProvider } from '../../models/provider-server.ts';
import { installAgents, resultsOf, untilEvent, type Installation, type ScriptedStep } from '../support.ts';
import { runLine } from '../../cli/support.ts';
import { dataUrl, png } from './samples.ts';

/** Messages with images and files, through both transports, up to the provider's server and the sandbox. */
let installation: Installation;
let service: TestApi;
let remote: Longshore;
let headers: { authorization: string };
let provider: Awaited<ReturnType<typeof startProvider>>;
let directory: string;

const PLOT = `
class Plot:
    def _repr_png_(self):
        return bytes.fromhex("89504e470d0a1a0a") + b"x" * 9000
Plot()
`;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'attachments-'));
  provider = await startProvider((response) => sendEvents(response, chatChunks([{ content: 'I have it.' }])));
  const model = (more: JsonObject) => ({ model: 'openai-compatible/m', modelOptions: { baseUrl: `${provider.url}/v1`, ...more }, steps: [] });
  const check = 'sha256sum in/a.png | cut -c 1-64; stat -c %U in/a.png';
  const read = async (path: string) => parse(await readFile(join('examples/agents', path), 'utf8')) as Record<string, unknown>;
  const { tools, approval } = await read('clerk.yaml');
  const { steps } = (await read('scripts/clerk.yaml')) as { steps: ScriptedStep[] };
  installation = await installAgents({
    clerk: { tools, approval, steps },
    seer: { ...model({}), tools: ['shell:*'] },
    reader: { ...model({ images: false }), tools: ['shell:*'] },
    saver: {
      steps: [
        { call: 'attachments:save', with: { attachment: 'a.png', path: 'in/a.png' }, expect: { isError: false } },
        { call: 'shell:run', with: { command: check } },
        { call: 'attachments:save', with: { attachment: '../../etc/passwd', path: 'x' }, expect: { isError: true } },
        { say: 'Saved.' },
      ],
    },
    plotter: { steps: [{ call: 'code:run', with: { language: 'python', code: PLOT, context: 'main' } }, { say: 'Plotted.' }] },
  });
  await installation.startWorker().ready;
  service = await startApi(installation);
  headers = await service.key();
  remote = await connect({ url: service.url, apiKey: headers.authorization.slice('Bearer '.length) });
}, 180_000);
afterAll(async () => {
  await remote[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
  await installation[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
}, 180_000);

const blobOf = (data: Uint8Array) => `sha256:${createHash('sha256').update(data).digest('hex')}`;

/** The parts of the newest message of a user in the newest request that the provider got. */
function partsSeen(): JsonObject[] {
  const messages = provider.requests.at(-1)?.body['messages'] as { role: string; content: JsonObject[] | string }[];
  const last = messages.findLast(({ role }) => role === 'user')?.content ?? [];
  return typeof last === 'string' ? [{ type: 'text', text: last }] : last;
}

function contentOf(entries: StoredEntry[]) {
  const entry = entries.findLast(({ entry: { role } }) => role === 'user')?.entry;
  return entry?.role === 'user' ? entry.content : [];
}

test('the bytes of an image reach the provider, and the transcript has a reference to them, on both transports', async () => {
  const image = png(100_000);
  const blob = blobOf(image);
  await writeFile(join(directory, 'chart.png'), image);
  for (const longshore of [installation.longshore, remote]) {
    await using chat = await longshore.start({ agent: 'seer', user: 'ann', message: 'What is this?', attachments: [{ path: join(directory, 'chart.png') }] });
    expect(await chat.reply()).toBe('I have it.');
    expect(partsSeen()).toContainEqual({ type: 'image_url', image_url: { url: dataUrl('image/png', image) } });
    const reference = { type: 'image', mediaType: 'image/png', name: 'chart.png', blob, bytes: image.length };
    expect(contentOf(await chat.transcript())).toEqual([{ type: 'text', text: 'What is this?' }, reference]);
    const { data, ...facts } = await chat.attachment(blob);
    expect([facts, Buffer.from(data).equals(image)]).toEqual([reference, true]);
    await expect(chat.attachment(blobOf(png(3)))).rejects.toMatchObject({ code: 'ATTACHMENT_NOT_FOUND' });
    const { data: told } = await untilEvent(chat, ({ type }) => type === 'message.received');
    expect(told).toMatchObject({ attachments: [{ attachmentId: blob, name: 'chart.png', mediaType: 'image/png', bytes: image.length }] });
    const sent = await chat.send('', { attachments: [{ name: 'notes.txt', data: Buffer.from('The mooring code is 4711.') }] });
    expect(await chat.reply(sent.turnId)).toBe('I have it.');
    expect(JSON.stringify(partsSeen())).toContain('The mooring code is 4711.');
    await chat.close();
  }
  const { tools } = (provider.requests.at(-1)?.body ?? {}) as { tools: { function: { name: string } }[] };
  const names = tools.map((tool) => tool.function.name);
  expect(names).toContain('attachments__save');
}, 120_000);

test('a model that sees no images is told what is attached and how it gets it', async () => {
  await using chat = await installation.longshore.start({ agent: 'reader', user: 'ann', attachments: [{ name: 'a.png', data: png().toString('base64') }] });
  expect(await chat.reply()).toBe('I have it.');
  const said = JSON.stringify(partsSeen());
  expect(said).not.toContain('image_url');
  expect(said).toMatch(/Attached image \\+"a.png\\+".*does not see images.*attachments__save/);
  await chat.close();
}, 60_000);

test('an agent writes an attachment into its sandbox, as its guest, and reaches no other', async () => {
  const image = png(200_000);
  await using chat = await remote.start({ agent: 'saver', user: 'ann', message: 'Save it.', attachments: [{ name: 'a.png', data: image }] });
  expect(await chat.reply()).toBe('Saved.');
  const [saved, checked, refused] = await resultsOf(chat);
  expect(saved).toMatchObject({ text: `Wrote ${image.length} bytes (image/png) to in/a.png.` });
  expect(checked).toMatchObject({ stdout: `${createHash('sha256').update(image).digest('hex')}\nuser\n` });
  expect(refused).toMatchObject({ isError: true, text: expect.stringContaining(blobOf(image)) as string });
  await chat.close();
}, 120_000);

test('an image in a result of a tool is stored beside the transcript', async () => {
  await using chat = await installation.longshore.start({ agent: 'plotter', user: 'ann', message: 'Plot it.' });
  expect(await chat.reply()).toBe('Plotted.');
  const parts = (await chat.transcript()).flatMap(({ entry }) => (entry.role === 'tool' ? entry.content : []));
  expect(parts.at(-1)).toEqual({ type: 'image', mediaType: 'image/png', blob: expect.stringMatching(/^sha256:/) as string, bytes: 9008 });
  expect((await chat.attachment((parts.at(-1) as { blob: string }).blob)).data).toHaveLength(9008);
  await chat.close();
}, 120_000);

test('a message that is sent again counts once, with its first attachments', async () => {
  const [first, second] = [png(10), png(10)];
  await using chat = await installation.longshore.start({ agent: 'seer', user: 'ann' });
  const send = (longshore: Longshore, data: Uint8Array) => longshore.send(chat.id, 'Look.', { messageId: 'one', attachments: [{ name: 'a.png', data }] });
  expect(await send(installation.longshore, first)).toMatchObject({ duplicate: false });
  expect(await send(remote, first)).toMatchObject({ duplicate: true });
  expect(await send(installation.longshore, second)).toMatchObject({ duplicate: true });
  await chat.reply();
  expect(contentOf(await chat.transcript())).toMatchObject([{}, { blob: blobOf(first) }]);
  // Both are taken while a turn may run: one joins it, one waits for its end.
  const others = [png(20), png(20)];
  await chat.send('', { whenBusy: 'steer', attachments: [{ name: 'b.png', data: others[0] ?? '' }] });
  const { turnId } = await chat.send('', { attachments: [{ name: 'c.png', data: others[1] ?? '' }] });
  await chat.reply(turnId);
  const known = (await chat.transcript())
    .flatMap(({ entry }) => (entry.role === 'user' ? entry.content : []))
    .flatMap((part) => ('blob' in part ? [part.blob] : []));
  expect(known).toEqual([first, ...others].map(blobOf));
  await expect(chat.attachment(blobOf(second))).rejects.toMatchObject({ code: 'ATTACHMENT_NOT_FOUND' });
  await chat.close();
}, 60_000);

test('pages of the AI SDK and clients of OpenAI attach what is in data URLs; nothing is fetched for them', async () => {
  const image = png(50);
  const post = (path: string, body: object) =>
    fetch(service.url + path, { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) });
  const parts = (url: string) => [
    { type: 'file', mediaType: 'image/png', filename: 'a.png', url },
    { type: 'text', text: 'See.' },
  ];
  const page = (url: string) => post('/api/chat', { id: 'chat-1', agent: 'seer', user: 'ann', messages: [{ id: 'm1', role: 'user', parts: parts(url) }] });
  expect((await page('https://example.com/a.png')).status).toBe(400);
  const answer = await page(dataUrl('image/png', image));
  expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('I have it.') as string]);
  expect(partsSeen()).toContainEqual({ type: 'image_url', image_url: { url: dataUrl('image/png', image) } });
  const messages = (await (await fetch(`${service.url}/api/chat/chat-1/messages`, { headers })).json()) as { parts: { url?: string; type: string }[] }[];
  const [file] = messages[0]?.parts ?? [];
  expect(file).toMatchObject({ type: 'file', mediaType: 'image/png', filename: 'a.png' });
  const download = await fetch(service.url + (file?.url ?? ''), { headers });
  expect(Buffer.from(await download.arrayBuffer()).equals(image)).toBe(true);
  expect(Object.fromEntries(download.headers)).toMatchObject({
    'content-type': 'image/png',
    'content-disposition': 'attachment; filename="a.png"; filename*=UTF-8\'\'a.png',
    'x-content-type-options': 'nosniff',
    'content-security-policy': "sandbox; default-src 'none'",
  });
  const content = (url: string) => [
    { type: 'text', text: 'Read.' },
    { type: 'image_url', image_url: { url } },
    { type: 'file', file: { filename: 'page.html', file_data: dataUrl('text/html', Buffer.from('<script>alert(1)</script>')) } },
  ];
  const complete = (url: string) => post('/openai/v1/chat/completions', { model: 'seer', messages: [{ role: 'user', content: content(url) }] });
  expect((await complete('http://127.0.0.1/a.png')).status).toBe(400);
  const completed = await complete(dataUrl('image/svg+xml', image));
  expect(completed.status).toBe(200);
  expect(JSON.stringify(partsSeen())).toMatch(/image_url.*<script>/);
  const conversation = completed.headers.get('x-longshore-conversation') ?? '';
  const html = contentOf(await installation.longshore.transcript(conversation)).at(-1) as { blob: string };
  const saved = await fetch(`${service.url}/v1/conversations/${conversation}/attachments/${html.blob}`, { headers });
  expect([saved.headers.get('content-type'), await saved.text()]).toEqual(['application/octet-stream', '<script>alert(1)</script>']);
}, 120_000);

async function removed(chat: Chat): Promise<boolean> {
  await chat.close();
  for await (const _ of chat.events());
  await installation.store.removal.begin(chat.id);
  return true;
}

test('the example counts the lines of a table that the command line attaches', async () => {
  const path = join(directory, 'table.csv');
  await writeFile(path, 'a,1\nb,2\n');
  const line = (args: string[], input = '') => runLine(installation.longshore, args, { input });
  const ran = await line(['run', 'clerk', '--message', '', '--attach', path, '--wait', '--close']);
  expect([ran.code, ran.err]).toEqual([0, '']);
  expect(ran.out).toContain('I have counted the lines of your table.');
  const talked = await line(['chat', 'clerk', '--attach', path], 'Count.\n');
  expect([talked.code, talked.out]).toEqual([0, expect.stringContaining('I have counted the lines of your table.') as string]);
  const refused = await line(['run', 'clerk', '--message', 'Count.', '--attach', join(directory, 'none')]);
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('attachments.0 was refused: ENOENT') as string]);
}, 120_000);

test('what is removed leaves no bytes', async () => {
  const chat = await installation.longshore.start({ agent: 'seer', user: 'eve', message: 'Look.', attachments: [{ name: 'a.png', data: png(7) }] });
  await chat.reply();
  const [{ blob } = { blob: '' }] = await installation.store.media.list(chat.id);
  await removed(chat);
  expect(await installation.store.media.read(chat.id, blob)).toBeDefined();
  expect(await installation.store.removal.finish(chat.id)).toBe(true);
  expect(await installation.store.media.read(chat.id, blob)).toBeUndefined();
  expect(await installation.store.media.sweepAfter(undefined)).toEqual({ removed: 0 });
}, 60_000);

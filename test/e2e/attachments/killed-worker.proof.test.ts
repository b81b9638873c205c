import { createHash } from 'node:crypto';
import { chatChunks, sendEvents, startProvider } from '../../models/provider-server.ts';
import { installAgents, resultsOf, type Installation } from '../support.ts';
import { dataUrl, png } from './samples.ts';

/** Workers that are killed at any moment lose no attachment, and write each whole. */
let installation: Installation;
let provider: Awaited<ReturnType<typeof startProvider>>;
let calls = 0;
/** Makes the provider answer slowly, so that workers are killed while they ask it. */
const SLOW_MS = 300;

beforeAll(async () => {
  provider = await startProvider((response) => {
    calls += 1;
    setTimeout(() => sendEvents(response, chatChunks([{ content: 'Seen.' }])), SLOW_MS);
  });
  const save = { call: 'attachments:save', with: { attachment: 'a.png', path: 'a.png' }, expect: { isError: false } };
  installation = await installAgents({
    saver: {
      steps: [save, save, save, { call: 'shell:run', with: { command: 'sha256sum a.png | cut -c 1-64; find . -type f -size +100k' } }, { say: 'Saved.' }],
    },
    seer: { model: 'openai-compatible/m', modelOptions: { baseUrl: `${provider.url}/v1` }, tools: ['shell:*'], steps: [] },
  });
}, 180_000);
afterAll(async () => {
  await installation[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
}, 180_000);

test('while workers are killed again and again, messages with attachments are answered, and what they have is written whole', async () => {
  const { longshore } = installation;
  const image = png(3_000_000);
  const attachments = [{ name: 'a.png', data: image }];
  await using saver = await longshore.start({ agent: 'saver', user: 'ann', message: 'Save it.', attachments });
  await using seer = await longshore.start({ agent: 'seer', user: 'ann', message: 'Look.', attachments });
  const replies = Promise.all([saver.reply(), seer.reply()]);
  for (let kills = 0; kills < 4; kills += 1) {
    const worker = installation.startWorker();
    await worker.ready;
    await new Promise((resolve) => setTimeout(resolve, kills * 200));
    await worker.kill();
  }
  const last = installation.startWorker();
  expect(await replies).toEqual(['Saved.', 'Seen.']);
  expect((await resultsOf(saver)).at(-1)).toMatchObject({
    stdout: expect.stringMatching(`^${createHash('sha256').update(image).digest('hex')}\n./a.png\n$`) as string,
  });
  expect(calls).toBeGreaterThan(0);
  expect(JSON.stringify(provider.requests.at(-1)?.body)).toContain(dataUrl('image/png', image));
  for (const chat of [saver, seer]) {
    expect(await installation.store.media.list(chat.id)).toMatchObject([{ name: 'a.png', bytes: image.length }]);
    expect((await chat.transcript()).filter(({ entry }) => entry.role === 'user')).toHaveLength(1);
    await chat.close();
  }
  await last.stop();
}, 240_000);

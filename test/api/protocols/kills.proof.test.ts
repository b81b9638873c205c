import { DefaultChatTransport, type UIMessage } from 'ai';
import OpenAI from 'openai';
import { installAgents, until, type Installation } from '../../e2e/support.ts';
import { serve, type Server } from '../serve.ts';
import { startApi, type TestApi } from '../support.ts';
import { Page } from './page.ts';

/** Streams of other protocols whose service is killed: the message that their readers put together is the one of a reader that was never cut. */
const KILLS = 20;
/** The turn takes longer than the kills. */
const STEPS = 45;
const steps = Array.from({ length: STEPS }, (_, step) => ({
  think: `Step ${step} comes now.`,
  say: `This is the answer of step ${step}, in more than one piece. `,
  call: 'shell:run',
  with: { command: `for i in 1 2 3 4 5 6 7 8; do echo "step ${step} line $i"; sleep 0.5; done` },
}));

let installation: Installation;
/** It is never killed. */
let stable: TestApi;
let headers: { authorization: string };
beforeAll(async () => {
  installation = await installAgents({ counter: { steps: [...steps, { say: 'Counted.' }], budget: { steps: STEPS + 10 } } });
  await installation.startWorker().ready;
  stable = await startApi(installation);
  headers = await stable.key();
}, 180_000);
afterAll(async () => {
  await stable[Symbol.asyncDispose]();
  await installation[Symbol.asyncDispose]();
}, 180_000);

/** Reads from one service after another, each of which is killed when the reader has got something of it; the last one is not. */
async function overKills(read: (url: string, hasSome: () => void) => Promise<void>): Promise<void> {
  let next = serve(installation);
  for (let kills = 0; kills < KILLS; kills += 1) {
    const server: Server = await next;
    next = serve(installation);
    let isOver = false;
    const cut = new Promise<void>((hasSome) => {
      void read(server.url, hasSome).then(
        () => (isOver = true),
        () => undefined,
      );
    });
    await cut;
    // A kill can come within a piece, or between two.
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 500));
    expect([kills, isOver]).toEqual([kills, false]);
    await server.kill();
  }
  const last = await next;
  await read(last.url, () => undefined);
  expect(await last.stop()).toBe(0);
}

/** As a page would keep it: without fields that say nothing. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

function openPage(id: string, urlNow: () => string): Page {
  const elsewhere: typeof fetch = (input, init) => fetch((input as string).replace('http://service', urlNow()), init);
  const body = { agent: 'counter', user: 'user-1' };
  return new Page({ id, transport: new DefaultChatTransport<UIMessage>({ api: 'http://service/api/chat', headers, body, fetch: elsewhere }) });
}

test(`a page whose service is killed ${KILLS} times in the middle of a message shows the message of a page that was never cut`, async () => {
  let now = '';
  const page = openPage('cut', () => now);
  let isSent = false;
  const following = openPage('cut', () => stable.url);
  let followed: Promise<void> | undefined;
  await overKills(async (url, hasSome) => {
    now = url;
    const before = page.answer.parts.length;
    const reading = isSent ? page.resumeStream() : page.sendMessage({ text: 'Count.' });
    await until(() => Promise.resolve(page.status === 'streaming' && page.answer.parts.length > before / 2), 'the page has got something');
    isSent = true;
    if (!followed) {
      following.messages = page.messages.filter(({ role }) => role === 'user');
      followed = following.resumeStream();
    }
    hasSome();
    await reading;
    if (page.status === 'error') throw page.error;
  });
  await followed;
  expect([page.error, following.error, page.text.endsWith('Counted.')]).toEqual([undefined, undefined, true]);
  expect(page.calls.map(({ state }) => state)).toEqual(Array.from({ length: STEPS }, () => 'output-available'));
  expect(plain(page.messages)).toEqual(plain(following.messages));
  const loaded = await fetch(`${stable.url}/api/chat/cut/messages`, { headers });
  expect(plain(page.messages)).toEqual(await loaded.json());
}, 900_000);

test(`a program that repeats its request with its Idempotency-Key after each of ${KILLS} kills has the answer of one that was never cut, and asked once`, async () => {
  const ask = async (url: string, take: (text: string) => void): Promise<string> => {
    const client = new OpenAI({ baseURL: `${url}/openai/v1`, apiKey: headers.authorization.replace('Bearer ', ''), maxRetries: 0 });
    const asked = { model: 'counter', messages: [{ role: 'user' as const, content: 'Count.' }], stream: true as const, user: 'user-1' };
    const stream = await client.chat.completions.create(asked, { headers: { 'idempotency-key': 'count-1' } });
    let text = '';
    for await (const { choices } of stream) {
      text += choices[0]?.delta.content ?? '';
      take(text);
      if (choices[0]?.finish_reason === 'stop') return text;
    }
    throw new Error(`the stream broke off after ${text.length} characters`);
  };
  const before = (await installation.longshore.list({ limit: 100 })).length;
  const cut: string[] = [];
  let whole = '';
  let followed: Promise<string> | undefined;
  await overKills(async (url, hasSome) => {
    let got = '';
    try {
      whole = await ask(url, (text) => {
        got = text;
        followed ??= ask(stable.url, () => undefined);
        if (text.length > 0) hasSome();
      });
    } catch (error) {
      cut.push(got);
      throw error;
    }
  });
  expect(whole).toBe(await followed);
  expect(whole.endsWith('Counted.')).toBe(true);
  expect(cut).toHaveLength(KILLS);
  expect(cut.filter((text) => !whole.startsWith(text))).toEqual([]);
  expect((await installation.longshore.list({ limit: 100 })).length).toBe(before + 1);
}, 900_000);

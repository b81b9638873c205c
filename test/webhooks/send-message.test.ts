import { createWebhookOptions } from '../../src/client/webhooks/webhook-arguments.ts';
import { makeWebhookSecret } from '../../src/webhooks/secret.ts';
import { openEndpoint } from '../../src/webhooks/send-message.ts';
import { pauseAfter, webhookTerms } from '../../src/webhooks/webhook-terms.ts';
import { eventOfMessage, messageIdOf } from '../../src/contracts/webhook.ts';
import { isSignedWith, openReceiver, type Receiver } from './receiver.ts';

const MESSAGE = { messageId: 'evt_1_conv_a', body: '{"type":"test","text":"ä\\u0000"}' };
const secret = makeWebhookSecret();
let receiver: Receiver;
beforeEach(async () => (receiver = await openReceiver()));
afterEach(async () => receiver[Symbol.asyncDispose]());

async function send(url = receiver.url, secrets = [secret], timeoutMs = 20_000) {
  await using endpoint = openEndpoint(url, { allowAddresses: ['127.0.0.1'], timeoutMs });
  return await endpoint.send(MESSAGE, secrets);
}

test('a message is one of Standard Webhooks: the library takes it, and takes no other', async () => {
  expect(await send()).toEqual({ outcome: 'delivered', status: 200, tookMs: expect.any(Number) });
  const [received] = receiver.received;
  expect(isSignedWith(secret, received!)).toBe(true);
  expect(isSignedWith(makeWebhookSecret(), received!)).toBe(false);
  expect(isSignedWith(secret, { ...received!, body: received!.body.replace('test', 'tesT') })).toBe(false);
  expect(received!.headers).toMatchObject({ 'webhook-id': 'evt_1_conv_a', 'content-type': 'application/json', 'user-agent': 'longshore-webhooks' });
});

test('with two secrets, a receiver may know either', async () => {
  const old = makeWebhookSecret();
  await send(receiver.url, [secret, old]);
  expect([secret, old, makeWebhookSecret()].map((one) => isSignedWith(one, receiver.received[0]!))).toEqual([true, true, false]);
});

test.each([
  [200, {}, { outcome: 'delivered' }],
  [204, {}, { outcome: 'delivered' }],
  [410, {}, { outcome: 'gone', problem: 'it answered 410: it wants no more messages' }],
  [307, { location: 'http://127.0.0.1:1/' }, { outcome: 'failed', problem: 'it answered 307: redirects are not followed' }],
  [500, {}, { outcome: 'failed', problem: 'it answered 500' }],
  [429, { 'retry-after': '120' }, { outcome: 'failed', problem: 'it answered 429', askedMs: 120_000 }],
  [503, { 'retry-after': 'soon' }, { outcome: 'failed', problem: 'it answered 503' }],
])('an answer of %i with %j', async (status, headers, expected) => {
  receiver.answer = (response) => response.writeHead(status, headers).end();
  const { tookMs: _, ...outcome } = await send();
  expect(outcome).toEqual({ status, ...expected });
  expect(receiver.received).toHaveLength(1);
});

test('an answer without end is an answer: what counts is its status', async () => {
  receiver.answer = (response) => {
    response.writeHead(200);
    const more = () => {
      while (!response.destroyed && response.write('x'.repeat(65_536)));
    };
    response.on('drain', more);
    more();
  };
  expect(await send()).toMatchObject({ outcome: 'delivered', status: 200 });
  receiver.answer = (response) => response.writeHead(200).write('a');
  // It waits for the rest of the answer as long as it may.
  expect(await send(receiver.url, [secret], 5_000)).toMatchObject({ outcome: 'delivered', status: 200 });
});

test('what does not answer in time, is away or is not public has failed, and says why', async () => {
  receiver.answer = () => undefined;
  const late = await send(receiver.url, [secret], 500);
  expect(late).toMatchObject({ outcome: 'failed', problem: expect.stringContaining('no complete answer in time') });
  expect(await send(receiver.url.replace('127.0.0.1', '127.0.0.2'))).toMatchObject({
    outcome: 'failed',
    problem: expect.stringContaining('is not public (loopback); an operator can allow it in LONGSHORE_WEBHOOK_ADDRESSES'),
  });
  expect(await send('http://localhost:1/')).toMatchObject({ outcome: 'failed', problem: expect.any(String) });
  await receiver.goAway();
  expect(await send()).toMatchObject({ outcome: 'failed', problem: expect.stringContaining('ECONNREFUSED') });
});

test('pauses grow, and what an answer asks for counts within the longest', () => {
  const terms = webhookTerms({});
  const pauses = [1, 2, 3, 4, 5, 6, 7, 40].map((failures) => pauseAfter(terms, failures, 0, () => 0));
  expect(pauses).toEqual([5_000, 30_000, 120_000, 600_000, 1_800_000, 3_600_000, 3_600_000, 3_600_000]);
  expect(pauseAfter(terms, 1, 120_000, () => 0)).toBe(120_000);
  expect(pauseAfter(terms, 1, 86_400_000, () => 0)).toBe(3_600_000);
  expect(pauseAfter(terms, 3, 1_000, () => 1)).toBe(132_000);
});

test('the id of a message names its event, without a point, which separates what is signed', () => {
  const event = { conversationId: 'my.own_conversation-1', seq: 12 };
  const id = messageIdOf(event);
  expect(id).toBe('evt_12_my~own_conversation-1');
  expect(eventOfMessage(id)).toEqual(event);
  for (const odd of ['', 'evt_1', 'evt__conv', 'evt_1_', 'evt_x_conv', `evt_1_${'c'.repeat(200)}`, 'evt_1_conv\n']) expect(eventOfMessage(odd)).toBeUndefined();
});

test.each(['https://bücher.example/hook', 'http://0x7f.1/', 'https://exa%6Dple.com/'])(
  'an address that no message could be sent to is refused at once: %s',
  async (url) => {
    const { hostname } = new URL(url);
    expect(await send(url)).toMatchObject({ outcome: 'failed', problem: expect.stringContaining(`write "${hostname}"`) as string });
    expect(() => createWebhookOptions({ url })).toThrow(`write "${hostname}"`);
  },
);

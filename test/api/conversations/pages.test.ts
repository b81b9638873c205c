import { connect } from '../../../src/client.ts';
import { serveScript, type ServedInstallation } from '../support.ts';

let served: ServedInstallation;
beforeAll(async () => {
  served = await serveScript([{ say: 'Ahoy.' }]);
}, 180_000);
afterAll(() => served[Symbol.asyncDispose](), 180_000);

test('a list has pages, newest first, without gaps or repetitions', async () => {
  const { installation, service } = served;
  const key = await service.key(['admin'], 'west');
  const made: string[] = [];
  for (let count = 0; count < 7; count += 1) made.unshift((await installation.longshore.start({ agent: 'scripted', user: 'user-1', tenant: 'west' })).id);
  const listed: string[] = [];
  for (let cursor: string | undefined = ''; cursor !== undefined;) {
    const answer = await fetch(`${service.url}/v1/conversations?limit=3${cursor === '' ? '' : `&cursor=${cursor}`}`, { headers: key });
    const page = (await answer.json()) as { conversations: { conversationId: string }[]; next?: string };
    listed.push(...page.conversations.map(({ conversationId }) => conversationId));
    cursor = page.next;
  }
  expect(listed).toEqual(made);
  for (const each of made) await installation.longshore.close(each);
}, 60_000);

test('a transcript has pages, in order, without gaps or repetitions, and the client over HTTP reads all of them', async () => {
  const { installation, service } = served;
  const key = await service.key(['conversations:read'], 'west');
  const { id: long } = await installation.longshore.start({ agent: 'scripted', user: 'user-1', tenant: 'west' });
  for (let count = 1; count <= 205; count += 1) {
    await installation.store.transcript.append(long, 'turn_1', undefined, `key-${count}`, { role: 'note', text: String(count) } as never);
  }
  const read: number[] = [];
  for (let after: number | undefined = 0; after !== undefined;) {
    const answer = await fetch(`${service.url}/v1/conversations/${long}/transcript?limit=50&after=${after}`, { headers: key });
    const page = (await answer.json()) as { entries: { seq: number }[]; next?: number };
    expect(page.entries.length).toBeLessThanOrEqual(50);
    read.push(...page.entries.map(({ seq }) => seq));
    after = page.next;
  }
  expect(read).toEqual(Array.from({ length: 205 }, (_, index) => index + 1));
  await using client = await connect({ url: service.url, apiKey: key.authorization.replace('Bearer ', '') });
  expect((await client.transcript(long)).map(({ seq }) => seq)).toEqual(read);
  expect((await client.transcript(long, 203)).map(({ seq }) => seq)).toEqual([204, 205]);
  await installation.longshore.close(long);
}, 60_000);

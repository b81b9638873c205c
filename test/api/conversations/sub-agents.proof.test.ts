import { connect, type TreeEvent } from '../../../src/client.ts';
import { installAgents, until, type Installation } from '../../e2e/support.ts';
import { framesOf, isEvent, startApi, type TestApi } from '../support.ts';

/** A tree of conversations as callers of the HTTP API see it. */
let installation: Installation;
let service: TestApi;
beforeAll(async () => {
  const step = { call: 'shell:run', with: { command: 'true' } };
  installation = await installAgents({
    asker: { approval: [{ tool: 'shell:run', decide: 'ask' }], steps: [step, { say: 'Thank you.' }] },
    quiet: { steps: [{ say: 'I have worked.' }] },
    chief: {
      agents: { quiet: { agent: 'quiet', description: 'Works.' } },
      steps: [{ calls: [1, 2].map((number) => ({ call: 'agents:run', with: { agent: 'quiet', task: `Task ${number}.` } })) }, { say: 'Both have worked.' }],
    },
    lead: {
      agents: { asker: { agent: 'asker', description: 'Asks.' } },
      steps: [{ call: 'agents:run', with: { agent: 'asker', task: 'Ask.' } }, { say: 'It was allowed.' }],
    },
  });
  await installation.startWorker().ready;
  service = await startApi(installation);
}, 180_000);
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await installation[Symbol.asyncDispose]();
}, 180_000);

interface Inbox {
  approvals: { conversationId: string; path?: string[]; agentId: string; approval: { callId: string; hash: string } }[];
}

test('the inbox has the approvals of sub-agents with the conversations above each, and an answer reaches them', async () => {
  const headers = await service.key(['conversations:read', 'conversations:write', 'approvals:resolve'], 'default');
  const ask = async <Answer>(path: string, body?: object): Promise<Answer> => {
    const answer = await fetch(service.url + path, {
      headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    });
    expect(answer.status).toBeLessThan(300);
    return (await answer.json()) as Answer;
  };
  const { conversationId: root } = await ask<{ conversationId: string }>('/v1/conversations', { agent: 'lead', user: 'ann', message: 'Go.' });
  const inbox = async () => (await ask<Inbox>('/v1/approvals')).approvals;
  await until(async () => (await inbox()).length > 0, 'the sub-agent asks');
  const [waiting] = await inbox();
  expect(waiting).toMatchObject({ path: [root], agentId: 'asker' });
  const status = await ask<{ status: { parent: object } }>(`/v1/conversations/${waiting!.conversationId}`);
  expect(status.status.parent).toMatchObject({ conversationId: root, path: [root] });
  await ask(`/v1/approvals/${waiting!.approval.callId}`, { answer: 'allow-once', hash: waiting!.approval.hash });
  const { turn } = await ask<{ turn: { reply: string } }>(`/v1/conversations/${root}/turn?wait=60`);
  expect(turn.reply).toBe('It was allowed.');
}, 180_000);

function withoutCursor(event: Partial<TreeEvent>): object {
  const rest = { ...event };
  delete rest.cursor;
  return rest;
}

test('a whole tree of conversations is one stream, which goes on where it was cut, with the same events in the process and over HTTP', async () => {
  const { longshore } = installation;
  const authorization = await service.key(['conversations:read'], 'default');
  const cutAt = async (url: string, most: number, after?: string): Promise<string[]> => {
    const leaving = new AbortController();
    const answer = await fetch(url, {
      headers: { ...authorization, accept: 'text/event-stream', ...(after !== undefined && { 'last-event-id': after }) },
      signal: leaving.signal,
    });
    const frames: string[] = [];
    if (answer.status === 204) return frames;
    for await (const frame of framesOf(answer)) {
      if (isEvent(frame)) frames.push(frame);
      if (frames.length === most) break;
    }
    leaving.abort();
    return frames;
  };
  await using chat = await longshore.start({ agent: 'chief', user: 'ann', message: 'Go.' });
  const url = `${service.url}/v1/conversations/${chat.id}/tree/events`;
  const idOf = (frame: string | undefined) => /^id: (.*)$/m.exec(frame ?? '')?.[1];
  const frames = await cutAt(url, 3);
  expect(await chat.reply()).toBe('Both have worked.');
  await chat.close();
  for (let more = await cutAt(url, 5, idOf(frames.at(-1))); more.length > 0; more = await cutAt(url, 5, idOf(frames.at(-1)))) frames.push(...more);
  const seen = frames.map((frame) => JSON.parse(/^data: (.*)$/m.exec(frame)?.[1] ?? '') as TreeEvent);
  const ids = [...new Set(seen.map(({ conversationId }) => conversationId))];
  expect(ids).toHaveLength(3);
  for (const id of ids) expect(seen.filter((event) => event.conversationId === id)).toEqual(await installation.store.events.read(id, 0));
  expect(idOf(frames.at(-1))).toBe('ended');

  await using remote = await connect({ url: service.url, apiKey: authorization.authorization.slice('Bearer '.length) });
  const byId = (events: TreeEvent[]) => ids.map((id) => events.filter((event) => event.conversationId === id).map(withoutCursor));
  for (const client of [longshore, remote]) {
    const events: TreeEvent[] = [];
    for await (const event of client.treeEvents(chat.id)) events.push(event);
    expect(byId(events)).toEqual(byId(seen));
    const rest: TreeEvent[] = [];
    for await (const event of client.treeEvents(chat.id, { after: events[4]?.cursor ?? '' })) rest.push(event);
    expect(rest).toHaveLength(events.length - 5);
  }
  const paged: string[] = [];
  for (let after = ''; after !== 'none';) {
    const page = await fetch(`${url}?limit=7${after && `&after=${after}`}`, { headers: authorization });
    const { events, next = 'none' } = (await page.json()) as { events: TreeEvent[]; next?: string };
    paged.push(...events.map(({ conversationId, seq }) => `${conversationId} ${seq}`));
    after = next;
  }
  expect(paged.toSorted()).toEqual(seen.map(({ conversationId, seq }) => `${conversationId} ${seq}`).toSorted());

  const foreign = await longshore.start({ agent: 'quiet', user: 'ann' });
  const refused = await fetch(url, { headers: { ...authorization, 'last-event-id': `${foreign.id}:0` } });
  expect([refused.status, ((await refused.json()) as { detail: string }).detail]).toEqual([
    400,
    `the place in the tree: "${foreign.id}:0" is none. Give the cursor of an event of this tree, as it was, or none to begin at the first event`,
  ]);
  await foreign.close();
}, 180_000);

import { Client, Connection } from '@temporalio/client';
import { pino } from 'pino';
import type { Chat } from '../../src/client.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { createOtlpTracing } from '../../src/traces/otlp-tracing.ts';
import { turnPlace } from '../../src/traces/trace-ids.ts';
import { startApi, type TestApi } from '../api/support.ts';
import { installAgents, textIn, untilEvent, type Installation } from '../e2e/support.ts';
import { startCollector } from './collector.ts';

/** Words of the message, the arguments, the output, the answer and the instructions. No trace may have any of them. */
const CANARIES = ['canary-message', 'canary-argument', 'canary-answer', 'canary-instructions', 'canary-error'];
const INTERNAL = 1;
const SERVER = 2;
const CLIENT = 3;
const ERROR = 2;

let installation: Installation;
let collector: Awaited<ReturnType<typeof startCollector>>;
/** The same conversation by a worker that traces, and by one that does not. */
let traced: Chat;
let untraced: Chat;
let turns: string[];
/** A conversation whose calls people allow. */
let approved: Chat;
let service: TestApi;
beforeAll(async () => {
  collector = await startCollector();
  const usage = { inputTokens: 100, outputTokens: 10, cacheReadTokens: 40 };
  const steps = [
    { say: 'canary-answer', call: 'shell:run', with: { command: 'echo canary-argument' }, usage },
    { say: 'Done.', usage },
    { call: 'files:read', with: { path: 'canary-error' }, usage },
    { say: 'And done.', usage },
  ];
  const asked = { call: 'shell:run', with: { command: 'echo canary-argument' } };
  installation = await installAgents({
    scripted: { steps, instructions: 'canary-instructions', modelOptions: { temperature: 0.5 } },
    asking: { approval: [{ tool: 'shell:run', decide: 'ask' }], steps: [asked, asked, { say: 'Done.' }] },
  });
  const { environment } = installation;
  untraced = await converse();
  environment['OTEL_EXPORTER_OTLP_ENDPOINT'] = `${collector.url}/`;
  environment['OTEL_SERVICE_NAME'] = 'harbour';
  const log = pino({ level: 'silent' });
  await using tracing = createOtlpTracing({ endpoint: collector.url, ratio: 1, service: 'service', log });
  service = await startApi(installation, {}, { tracing });
  traced = await converse(service);
  await talkOtherwise();
}, 180_000);
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await installation[Symbol.asyncDispose]();
  await collector[Symbol.asyncDispose]();
}, 180_000);

/** The trace that a caller of the service is in. */
const CALLER = { traceId: 'c'.repeat(32), spanId: 'd'.repeat(16) };

/** Two turns, by a worker that has ended when this returns; the second message comes over HTTP if there is a service. */
async function converse(api?: TestApi): Promise<Chat> {
  const worker = installation.startWorker();
  await worker.ready;
  const chat = await installation.longshore.start({ agent: 'scripted', user: 'user-1', tenant: 'acme', message: 'canary-message' });
  await chat.reply();
  if (api) await sendOver(api, chat);
  else await chat.send('Again, canary-message');
  await chat.reply();
  await chat.close();
  for await (const _ of chat.events()) continue;
  turns = (await installation.store.events.read(chat.id, 0)).flatMap(({ type, turnId }) => (type === 'turn.started' && turnId !== undefined ? [turnId] : []));
  await worker.stop();
  return chat;
}

async function sendOver(api: TestApi, { id }: Chat): Promise<void> {
  const answer = await fetch(`${api.url}/v1/conversations/${id}/messages?wait=30`, {
    method: 'POST',
    headers: { ...(await api.key()), 'content-type': 'application/json', traceparent: `00-${CALLER.traceId}-${CALLER.spanId}-01` },
    body: JSON.stringify({ message: 'Again, canary-message' }),
  });
  expect(answer.status).toBe(200);
}

/** A message in each of the protocols of others, answered by a worker that does not trace. */
async function talkOtherwise(): Promise<void> {
  delete installation.environment['OTEL_EXPORTER_OTLP_ENDPOINT'];
  const worker = installation.startWorker();
  await worker.ready;
  const message = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'canary-message' }] };
  await ask('/api/chat', { id: 'chat-1', agent: 'scripted', user: 'user-1', messages: [message] });
  const completion = { model: 'scripted', messages: [{ role: 'user', content: 'canary-message' }] };
  await ask('/openai/v1/chat/completions', completion);
  await ask('/openai/v1/chat/completions', { ...completion, stream: true });
  await answerApprovals();
  await worker.stop();
}

/** Two approvals of one turn: one is answered by a person with a key, one by a person with a link. */
async function answerApprovals(): Promise<void> {
  approved = await installation.longshore.start({ agent: 'asking', user: 'user-1', tenant: 'acme', message: 'canary-message' });
  const first = await approvalAfter(undefined);
  await ask(`/v1/approvals/${first}`, { answer: 'allow-once' });
  const second = await approvalAfter(first);
  const made = await ask(`/v1/approvals/${second}/link`, {});
  const { url } = JSON.parse(made) as { url: string };
  const token = url.split('/').at(-1) ?? '';
  const decided = await fetch(url, { method: 'POST', body: new URLSearchParams({ token, decision: 'allow-once' }) });
  expect(decided.status).toBe(200);
  await approved.reply();
}

/** The call that waits for a person, once it is another than `before`. */
async function approvalAfter(before: string | undefined): Promise<string> {
  const { data } = await untilEvent(approved, ({ type, data: of }) => type === 'tool.approval-requested' && textIn(of, 'callId') !== before);
  return textIn(data, 'callId');
}

/** A request of a client of another protocol, its answer read to its end. */
async function ask(path: string, body: object): Promise<string> {
  const headers = { ...(await service.key(undefined, 'acme')), 'content-type': 'application/json', traceparent: `00-${CALLER.traceId}-${CALLER.spanId}-01` };
  const answer = await fetch(`${service.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  expect(answer.ok).toBe(true);
  return answer.text();
}

test("a request to the service is a span of its caller's trace, and links to the trace of the turn", () => {
  const requests = collector.spans().filter(({ kind }) => kind === SERVER);
  expect(requests).toHaveLength(6);
  const [request] = requests;
  expect(request).toMatchObject({ traceId: CALLER.traceId, parentSpanId: CALLER.spanId, name: 'POST /v1/conversations/:id/messages' });
  expect(request?.attributes).toMatchObject({ 'http.response.status_code': 200, 'gen_ai.conversation.id': traced.id, 'longshore.turn.id': turns[1] });
  expect(request?.links).toMatchObject([turnPlace(turns[1] ?? '')]);
});

test('so is a request of a page of the AI SDK and of a client of OpenAI, with a stream and without', async () => {
  const requests = collector.spans().filter(({ kind, name }) => kind === SERVER && /chat/.test(name));
  expect(requests.map(({ name }) => name).toSorted()).toEqual(['POST /api/chat', 'POST /openai/v1/chat/completions', 'POST /openai/v1/chat/completions']);
  for (const { traceId, parentSpanId, attributes, links } of requests) {
    const turnId = String(attributes['longshore.turn.id']);
    const events = await installation.store.events.read(String(attributes['gen_ai.conversation.id']), 0);
    expect(events.map((event) => [event.type, event.turnId])).toContainEqual(['turn.started', turnId]);
    expect({ traceId, parentSpanId, links: links.map((link) => [link.traceId, link.spanId]) }).toEqual({
      traceId: CALLER.traceId,
      parentSpanId: CALLER.spanId,
      links: [[turnPlace(turnId).traceId, turnPlace(turnId).spanId]],
    });
  }
});

test('so is the answer to an approval, over the API and by a link', async () => {
  const events = await installation.store.events.read(approved.id, 0);
  const turnId = events.find(({ type }) => type === 'turn.started')?.turnId ?? '';
  const requests = collector.spans().filter(({ kind, name }) => kind === SERVER && name.includes('approv'));
  expect(requests.map(({ name, attributes, links }) => [name, attributes['longshore.turn.id'], links.map(({ traceId }) => traceId)])).toEqual([
    ['POST /v1/approvals/:callId', turnId, [turnPlace(turnId).traceId]],
    ['POST /approve/:token', turnId, [turnPlace(turnId).traceId]],
  ]);
  expect(requests[0]?.traceId).toBe(CALLER.traceId);
});

test('the service has figures of its requests, for operators only and without ids', async () => {
  const read = async (tenant?: string) => fetch(`${service.url}/metrics`, { headers: await service.key(['admin'], tenant) });
  await fetch(`${service.url}/v1/nothing/${traced.id}`);
  const answer = await read();
  expect(answer.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  const text = await answer.text();
  expect(text).toContain('longshore_api_requests_total{route="/v1/conversations/:id/messages",method="POST",status="200"} 1');
  expect(text).toContain('longshore_api_requests_total{route="none",method="any",status="404"} 1');
  expect(text).toContain('longshore_api_request_seconds_count{route="/v1/conversations/:id/messages",method="POST"} 1');
  expect(text).toContain('longshore_api_open_streams 0');
  expect([traced.id, 'acme'].filter((id) => text.includes(id))).toEqual([]);
  expect((await read('acme')).status).toBe(403);
});

test('each turn is one trace: the agent, its model calls and its tools; a turn links to the one before', () => {
  expect(collector.paths()).toEqual(['/v1/traces']);
  expect(collector.resources().map((resource) => resource['service.name'])).toContain('harbour');
  const tree = turns.map((turnId) => {
    const { traceId, spanId } = turnPlace(turnId);
    const spans = collector.spans().filter((span) => span.traceId === traceId);
    const root = spans.find((span) => span.spanId === spanId);
    const children = spans.filter((span) => span !== root);
    expect(children.every(({ parentSpanId }) => parentSpanId === spanId)).toBe(true);
    const order = children.toSorted((one, other) => (BigInt(one.startTimeUnixNano) < BigInt(other.startTimeUnixNano) ? -1 : 1));
    return [root?.name, root?.links.map((link) => [link.traceId, link.spanId]), ...order.map(({ name }) => name)];
  });
  const first = turnPlace(turns[0] ?? '');
  expect(tree).toEqual([
    ['invoke_agent scripted', [], 'chat scripted.yaml', 'execute_tool shell:run', 'chat scripted.yaml'],
    ['invoke_agent scripted', [[first.traceId, first.spanId]], 'chat scripted.yaml', 'execute_tool files:read', 'chat scripted.yaml'],
  ]);
  expect(collector.spans().filter(({ kind }) => kind !== SERVER)).toHaveLength(8);
});

test('spans have the attributes of the conventions, with usage and cost', () => {
  const spans = collector.spans();
  const place = { 'gen_ai.conversation.id': traced.id, 'gen_ai.agent.id': 'scripted', 'longshore.tenant.id': 'acme', 'longshore.turn.id': turns[0] };
  const root = spans.find(({ spanId }) => spanId === turnPlace(turns[0] ?? '').spanId);
  expect(root).toMatchObject({
    kind: INTERNAL,
    attributes: {
      ...place,
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.provider.name': 'scripted',
      'gen_ai.usage.input_tokens': 200,
      'gen_ai.usage.output_tokens': 20,
      'gen_ai.usage.cache_read.input_tokens': 80,
      'longshore.cost_usd': 0,
      'longshore.turn.outcome': 'finished',
    },
  });
  const within = (span: (typeof spans)[number]) => BigInt(span.endTimeUnixNano) <= BigInt(root?.endTimeUnixNano ?? 0);
  expect(spans.filter(({ traceId }) => traceId === root?.traceId).every(within)).toBe(true);
  const chat = spans.find(({ name, traceId }) => name === 'chat scripted.yaml' && traceId === root?.traceId);
  expect(chat).toMatchObject({
    kind: CLIENT,
    attributes: {
      ...place,
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'scripted.yaml',
      'gen_ai.request.temperature': 0.5,
      'gen_ai.usage.input_tokens': 100,
      'gen_ai.usage.cache_read.input_tokens': 40,
      'longshore.attempt': 1,
    },
  });
  const tool = spans.find(({ name }) => name === 'execute_tool shell:run');
  expect(tool).toMatchObject({
    kind: INTERNAL,
    attributes: { ...place, 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'shell:run', 'longshore.call.outcome': 'finished' },
  });
  expect(spans.find(({ name }) => name === 'execute_tool files:read')).toMatchObject({ status: { code: ERROR }, attributes: { 'error.type': 'tool_error' } });
});

test('no trace has content', () => {
  const sent = collector.text();
  expect(sent).toContain(traced.id);
  expect(CANARIES.filter((canary) => sent.includes(canary))).toEqual([]);
});

test('a worker without an address sends nothing, and histories are the same with and without', async () => {
  expect(collector.text()).not.toContain(untraced.id);
  const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace } = loadConfig();
  await using connection = await connectTo(address);
  const client = new Client({ connection: connection.connection, namespace });
  const shape = async ({ id }: Chat) => {
    const { events } = await client.workflow.getHandle(id).fetchHistory();
    return (events ?? []).flatMap(({ activityTaskScheduledEventAttributes: scheduled }) =>
      scheduled ? [[scheduled.activityType?.name, scheduled.header?.fields ?? {}]] : [],
    );
  };
  const [withTraces, without] = [await shape(traced), await shape(untraced)];
  expect(withTraces.length).toBeGreaterThan(8);
  expect(withTraces).toEqual(without);
});

async function connectTo(address: string) {
  const connection = await Connection.connect({ address });
  return { connection, [Symbol.asyncDispose]: () => connection.close() };
}

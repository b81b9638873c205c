import { fileURLToPath } from 'node:url';
import type { Ajv2020 } from 'ajv/dist/2020.js';
import type { Json, JsonObject } from '../../src/contracts/json.ts';
import { resolved, type Document, type Media, type Operation, type Schema } from '../../src/api/description/document.ts';
import { archiveOf } from '../e2e/export/make-archive.ts';
import { installAgents, until, type Installation } from '../e2e/support.ts';
import { startApi, type TestApi } from './support.ts';
import {
  createAnswerCheck,
  createSchemaCheck,
  documentOf,
  exampleBody,
  filledPath,
  routesOf,
  type Answer,
  type AnswerCheck,
  type Route,
} from './support/document.ts';

const WEATHER = fileURLToPath(new URL('../../examples/plugins/weather', import.meta.url));

/** What the service answers is what its OpenAPI document says: over all routes, with real data. */
let installation: Installation;
let service: TestApi;
let document: Document;
let fits: AnswerCheck;
let headers: { authorization: string };
/** Ids of real things, for the parameters of paths. */
let names: Record<string, string>;

beforeAll(async () => {
  const steps = [{ say: 'Ahoy.' }];
  const makes = { call: 'shell:run', with: { command: 'echo made > made.txt' } };
  installation = await installAgents({
    scripted: { steps: [makes, ...steps], plugins: [WEATHER], clientToolsFromRequests: true, clientTools: { open_file: { description: 'Opens a file.' } } },
    asking: { steps: [{ call: 'shell:run', with: { command: 'true' } }, ...steps], approval: [{ tool: '*', decide: 'ask' }] },
    opener: { clientTools: { open_file: { description: 'Opens a file.' } }, steps: [{ call: 'client:open_file' }, ...steps] },
  });
  await installation.startWorker().ready;
  service = await startApi(installation);
  document = documentOf(service.api);
  fits = createAnswerCheck(document);
  headers = await service.key(['admin']);
  names = await makeThings();
}, 180_000);
afterAll(async () => {
  for (const { id } of await installation.longshore.schedules.list()) await installation.longshore.schedules.delete(id);
  for (const { conversationId } of await installation.longshore.list()) await installation.longshore.close(conversationId);
  await service[Symbol.asyncDispose]();
  await installation[Symbol.asyncDispose]();
}, 180_000);

async function makeThings(): Promise<Record<string, string>> {
  const { longshore, name } = installation;
  const chat = await longshore.start({ agent: 'scripted', user: 'user-1', message: 'Ahoy.', attachments: [{ name: 'a.txt', data: 'QWhveQ==' }] });
  await longshore.reply(chat);
  const [attachment] = await installation.store.media.list(chat.id);
  const asking = await longshore.start({ agent: 'asking', user: 'user-1', message: 'Run it.' });
  const pending = async () => (await longshore.status(asking)).pendingApprovals;
  await until(async () => (await pending()).length > 0, 'a call waits for a person');
  const opener = await longshore.start({ agent: 'opener', user: 'user-1', message: 'Open it.' });
  const waiting = async () => (await longshore.waitingCalls(opener)).calls;
  await until(async () => (await waiting()).length > 0, 'a call waits for a client');
  await longshore.schedules.create({ id: `real-${name}`, agent: 'scripted', user: 'user-1', message: 'Ahoy.', every: '30d' });
  const { keyId } = await longshore.keys.create({ name: 'real', scopes: ['conversations:read'] });
  await until(async () => (await longshore.plugins.list()).length > 0, 'a worker reports its plugin');
  const [plugin] = await longshore.plugins.list();
  const { webhookId } = await longshore.webhooks.create({ url: 'https://nowhere.example' });
  const offered = { name: './gate', health: 'loaded' as const, pluginId: 'harbour-gate', tools: [], permissions: {}, alerts: [] };
  await installation.store.plugins.report('host-1', { ...offered, webhooks: [{ endpoint: 'github', name: '', description: '' }] });
  const receiver = await longshore.plugins.addWebhook('harbour-gate', { endpoint: 'github' });
  const ended = await longshore.plugins.addWebhook('harbour-gate', { endpoint: 'github' });
  await startCommand(chat.id, 'server', 'exec python3 -m http.server 8000 --bind 127.0.0.1');
  const served = `${service.url}/v1/conversations/${chat.id}/ports/8000/made.txt`;
  await until(async () => (await fetch(served, { headers })).status === 200, 'its server listens');
  return {
    id: chat.id,
    'conversations.id': chat.id,
    '*': 'made.txt',
    attachmentId: attachment?.blob ?? '',
    execId: `run_${await startCommand(chat.id, 'real', 'cat')}`,
    'schedules.id': `real-${name}`,
    'plugins.id': plugin?.id ?? 'nothing',
    'webhooks.id': webhookId,
    'plugins.webhooks.id': 'harbour-gate',
    webhookId: ended.webhookId,
    token: receiver.path.slice(receiver.path.lastIndexOf('/') + 1),
    callId: (await pending())[0]?.callId ?? '',
    'tools.id': opener.id,
    'tools.callId': (await waiting())[0]?.callId ?? '',
    name: 'main',
    port: '8000',
    keyId,
    model: 'scripted',
    'download.token': await linkTo(chat.id, 'download', 'made.txt'),
    'upload.token': await linkTo(chat.id, 'upload', 'sent.txt'),
  };
}

async function linkTo(id: string, kind: string, path: string): Promise<string> {
  const answer = await fetch(`${service.url}/v1/conversations/${id}/${kind}-links`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ path }),
  });
  const { url } = (await answer.json()) as { url: string };
  return url.slice(url.lastIndexOf('/') + 1);
}

/** It ends when it is killed. */
async function startCommand(id: string, name: string, command: string): Promise<string> {
  const body = JSON.stringify({ id: name, command, openStdin: true, timeoutMs: 0 });
  const answer = await fetch(`${service.url}/v1/conversations/${id}/commands`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body,
  });
  expect(answer.status).toBe(202);
  return name;
}

async function ask(route: Route, path: string, body: unknown, more: Record<string, string> = headers): Promise<Answer> {
  const answer = await fetch(service.url + path, {
    method: route.method,
    headers: { ...more, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: body instanceof Uint8Array ? new Uint8Array(body) : JSON.stringify(body) }),
  });
  return { status: answer.status, mediaType: (answer.headers.get('content-type') ?? '').split(';')[0] ?? '', text: await answer.text() };
}

function expectFit(route: Route, answer: Answer): void {
  expect([route.method, route.path, answer.status, fits(route, answer), answer.text.slice(0, 500)]).toEqual([
    route.method,
    route.path,
    answer.status,
    undefined,
    answer.text.slice(0, 500),
  ]);
}

const fieldsOf = (): JsonObject => ({ agent: 'scripted', model: 'scripted', to: 'made.txt', id: `made-${installation.name}` });

test('every refusal fits what the document says of its route: without a key, of what does not exist, and of what makes no sense', async () => {
  for (const route of routesOf(document)) {
    const body = exampleBody(route, fieldsOf());
    if (route.operation.security?.length !== 0) expectFit(route, await ask(route, filledPath(route.path, names), body, {}));
    if (route.path.includes('{')) expectFit(route, await ask(route, filledPath(route.path, {}), body));
    if (route.operation.requestBody) expectFit(route, await ask(route, filledPath(route.path, names), [1]));
  }
}, 120_000);

/** What is written is read after that. A command takes input until it is killed, and its output ends with it. What ends or removes what other routes need comes last. */
const ORDER = ['PUT', 'stdin', 'kill', 'others', 'cancel', 'DELETE', 'close'];
const orderOf = ({ method, path }: Route) => {
  if (method === 'DELETE' && path === '/v1/conversations/{id}') return ORDER.indexOf('close');
  return ORDER.indexOf(ORDER.find((word) => method === word || path.endsWith(`/${word}`)) ?? 'others');
};

/** The conversation has no checkpoint; test/e2e/checkpoints goes back to one, and compares with it. */
const WITHOUT_THEIR_THING = ['/v1/conversations/{id}/rewind', '/v1/conversations/{id}/diff'];

test('every route succeeds with what exists, and its answer fits what the document says', async () => {
  const failed: string[] = [];
  for (const route of routesOf(document).toSorted((a, b) => orderOf(a) - orderOf(b))) {
    const body = route.path === '/v1/conversations/import' ? await archiveOf([], [], { agentId: 'scripted' }) : exampleBody(route, fieldsOf());
    const answer = await ask(route, filledPath(route.path, names), body);
    expectFit(route, answer);
    if (route.operation['x-websocket'])
      expect([route.path, answer.status, answer.text]).toEqual([route.path, 400, expect.stringContaining('it asks for no WebSocket')]);
    else if (answer.status >= 300 && !WITHOUT_THEIR_THING.includes(route.path)) failed.push(`${route.method} ${route.path} ${answer.text}`);
  }
  expect(failed).toEqual([]);
}, 180_000);

test('the document is complete: each route has a summary, a tag that is explained, examples that fit their schemas', () => {
  const ajv = createSchemaCheck();
  ajv.addSchema(document, 'api');
  const explained = new Set(document.tags?.map(({ name }) => name));
  const isDeclared = new Set<string>();
  for (const { method, path, operation } of routesOf(document)) {
    const route = `${method} ${path}`;
    expect([route, operation.summary ?? '']).toEqual([route, expect.stringMatching(/^[A-Z].+[^.]$/)]);
    expect([route, operation.tags?.filter((tag) => explained.has(tag)).length]).toEqual([route, 1]);
    expect([route, isDeclared.has(operation.operationId)]).toEqual([route, false]);
    isDeclared.add(operation.operationId);
    for (const [mediaType, media] of mediaOf(operation)) {
      const examples = examplesOf(media);
      expect([route, mediaType, examples.length > 0]).toEqual([route, mediaType, true]);
      const schema = resolved(document, media.schema ?? {});
      for (const example of examples) expect([route, mediaType, problemsOf(ajv, schema, example)]).toEqual([route, mediaType, undefined]);
    }
  }
});

function mediaOf({ responses, requestBody }: Operation): [string, Media][] {
  return [...Object.values(responses), ...(requestBody ? [requestBody] : [])].flatMap(({ content = {} }) => Object.entries(content));
}

function examplesOf({ example, examples = {} }: Media): Json[] {
  return [...(example === undefined ? [] : [example]), ...Object.values(examples).map(({ value }) => value)];
}

/** Schemas by their texts: many examples share one, and it is compiled once. */
const schemas = new Map<string, Schema>();

function problemsOf(ajv: Ajv2020, schema: Schema, example: unknown): string | undefined {
  const text = JSON.stringify(schema).replaceAll('"#/components', '"api#/components');
  const shared = schemas.get(text) ?? (JSON.parse(text) as Schema);
  schemas.set(text, shared);
  return ajv.validate(shared, example) ? undefined : `${ajv.errorsText()} ${JSON.stringify(example)}`;
}

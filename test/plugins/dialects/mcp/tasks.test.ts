import { failure } from '../../../../src/contracts/errors.ts';
import type { PluginStore, ToolContext } from '../../../../src/plugins/api/define-plugin.ts';
import type { Question } from '../../../../src/contracts/questions/question.ts';
import { until } from '../../../sandbox/supervisor/local-supervisor.ts';
import { createGuestCaller } from '../../../../src/plugins/dialects/mcp/call-guest.ts';
import { createLively, type Lively } from './lively-server.ts';
import { memoryStore } from './memory-store.ts';
import { call, openBench, serveFixture, type Bench, type ServedFixture } from './support.ts';

let lively: Lively;
let served: ServedFixture;
let bench: Bench;
let store: PluginStore;
let heard: string[];
beforeEach(async () => {
  lively = createLively();
  served = await serveFixture(0, lively.create);
  bench = await openBench({ url: served.url, headers: {}, timeoutMs: 10_000 });
  store = memoryStore();
  heard = [];
});
afterEach(async () => {
  await bench[Symbol.asyncDispose]();
  await served[Symbol.asyncDispose]();
});

const logger = { info: () => undefined, warn: (text: string) => void heard.push(text) };
const make = (tool: string, more: Partial<ToolContext> = {}, at = bench) =>
  call(at, tool, {}, { store, callId: 'call_1', logger, heartbeat: (line) => void heard.push(line), ...more });
const mayGoOn = (tool = 'sail') =>
  bench
    .plugin()
    .tools.find(({ id }) => id === tool)
    ?.mayGoOn?.('call_1', store);
/** Fails with the call. */
const begun = (made: Promise<unknown>) =>
  Promise.race([until(async () => heard.includes('at sea')), made.then(() => Promise.reject(new Error('it had no task')))]);

test.each(['sail', 'drift'])('a call that its server makes a task has the result of the task: %s', async (tool) => {
  const made = make(tool);
  await begun(made);
  expect(await mayGoOn(tool)).toBe(true);
  lively.finish('back');
  expect(await made).toBe('back');
  expect(await mayGoOn(tool)).toBe(false);
  expect(lively.asked).toEqual([`call ${tool} as a task`, 'result of task-1']);
});

test('the result of a task counts also when its id cannot be removed', async () => {
  const refuses: PluginStore = { ...store, delete: () => Promise.reject(failure('POSTGRES_UNAVAILABLE', { problem: 'it restarts' })) };
  const made = make('sail', { store: refuses });
  await begun(made);
  lively.finish('back');
  expect(await made).toBe('back');
});

test('the next attempt at a call follows the task that the one before has begun, over another connection', async () => {
  const ended = new AbortController();
  const first = make('sail', { signal: ended.signal });
  await begun(first);
  ended.abort(failure('DETACHED', { execId: 'call_1' }));
  await expect(first).rejects.toMatchObject({ code: 'DETACHED' });
  await using another = await openBench({ url: served.url, headers: {}, timeoutMs: 10_000 });
  lively.finish('back');
  expect(await make('sail', {}, another)).toBe('back');
  expect(lively.asked).toEqual(['call sail as a task', 'result of task-1']);
});

test('a server that has ended meanwhile is asked again for the state of the task', async () => {
  const made = make('sail');
  await begun(made);
  served.cut();
  served.restart();
  lively.finish('back');
  expect(await made).toBe('back');
  expect(lively.asked).toEqual(['call sail as a task', 'result of task-1']);
});

test('a call that is ended cancels its task', async () => {
  const ended = new AbortController();
  const made = make('sail', { signal: ended.signal });
  await begun(made);
  ended.abort(failure('INTERRUPTED', { callId: 'call_1' }));
  await expect(made).rejects.toMatchObject({ code: 'INTERRUPTED' });
  expect(lively.asked).toEqual(['call sail as a task', 'cancel task-1']);
});

test('a task that its server has forgotten since is not said to have failed', async () => {
  await store.set('task call_1', { taskId: 'task-9' });
  await expect(make('sail')).rejects.toThrow(
    'the worker of this call died, and the MCP server fix does not tell what its task has done (Task not found: task-9): it is not known whether the call took effect',
  );
  expect(lively.asked).toEqual([]);
});

test('a task asks a person while its result is waited for', async () => {
  const shown: Question[] = [];
  const askPerson: ToolContext['askPerson'] = async (question) => {
    shown.push(question);
    return { action: 'accept', content: { hours: 3 } };
  };
  expect(await make('ask', { askPerson })).toBe('{"action":"accept","content":{"hours":3}}');
  expect(shown).toMatchObject([{ server: 'fix', message: 'How long?' }]);
});

test('in the sandbox, a call is a task only where its server has no other way, and its two requests are followed by every worker', async () => {
  const sent: unknown[] = [];
  const run = createGuestCaller({ name: 'fix', server: { timeoutMs: 10_000 } as never, program: () => ({}) as never });
  const callServer = async (_program: unknown, request: { method: string }) => {
    sent.push(request);
    return { outcome: 'answered', result: request.method === 'tools/call' ? { task: { taskId: 'task-1' } } : { content: [] }, server: {} };
  };
  const context = { sandbox: { callServer } } as unknown as ToolContext;
  const request = { method: 'tools/call', params: { name: 'sail' } };
  const make = (task?: 'required' | 'optional') => run({ name: 'sail', run: async (_input, ask) => ask(request, task) }).execute({}, context);
  await make('required');
  await make('optional');
  await make();
  const begins = { ...request, params: { name: 'sail', task: { ttl: 86_410_000 } } };
  expect(sent).toEqual([begins, { method: 'tasks/result', params: { taskId: 'task-1' } }, request, request]);
});

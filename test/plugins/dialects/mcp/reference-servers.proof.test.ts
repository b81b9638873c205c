import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { loadConfig } from '../../../../src/platform/config.ts';
import { installPinnedPackages } from '../../../../src/setup/pinned-packages.ts';
import type { McpProgram, McpRemote } from '../../../../src/contracts/mcp/server.ts';
import type { Question } from '../../../../src/contracts/questions/question.ts';
import type { ToolContext } from '../../../../src/plugins/api/define-plugin.ts';
import type { PluginConversation } from '../../../../src/plugins/api/plugin.ts';
import { until } from '../../../sandbox/supervisor/local-supervisor.ts';
import { memoryStore } from './memory-store.ts';
import { call, openBench, type Bench } from './support.ts';

const log = (text: string) => void process.stderr.write(`${text}\n`);
/** Undefined where they are not installed and npm's registry cannot be reached. */
const packages = await installPinnedPackages({ name: 'mcp-servers', home: loadConfig().LONGSHORE_HOME, log, fix: 'Connect this machine to a registry' }).catch(
  (error: Error) => log(`SKIPPED: the proof with the reference servers of MCP, which are not installed: ${error.message}`),
);
const proof = packages === undefined ? describe.skip : describe;

const programOf = (name: string) => join(packages ?? '', '@modelcontextprotocol', `server-${name}`, 'dist/index.js');
const stdio = (name: string, args: string[] = [], env: Record<string, string> = {}): McpProgram => {
  return { command: process.execPath, args: [programOf(name), ...args], env, where: 'host', timeoutMs: 30_000 };
};
const text = (value: unknown) => JSON.stringify(value);

/** A person who accepts, with these values, and a model. */
function conversation(content: Record<string, string | number | boolean> = {}) {
  const asked: Question[] = [];
  const heard: string[] = [];
  const context: Partial<ToolContext> = {
    store: memoryStore(),
    callId: 'call_1',
    logger: { info: () => undefined, warn: () => undefined },
    heartbeat: (line) => void heard.push(line),
    askPerson: async (question) => {
      asked.push(question);
      return { action: 'accept', content };
    },
    model: {
      name: 'harbour/large',
      ask: async ({ messages }) => ({ text: `to ${messages.length}`, reasoning: '', calls: [], usage: { inputTokens: 1, outputTokens: 1 } }),
    },
  };
  return { asked, heard, context };
}

proof.each(['as a program', 'over HTTP'])('the server that has everything, %s', (where) => {
  let bench: Bench;
  let stop: () => Promise<void>;
  beforeAll(async () => {
    const served = where === 'over HTTP' ? await serveEverything() : { server: stdio('everything', ['stdio']), stop: async () => undefined };
    bench = await openBench({ ...served.server, sampling: 'allow' });
    ({ stop } = served);
  });
  afterAll(async () => {
    await bench[Symbol.asyncDispose]();
    await stop();
  });

  test('has its tools, and those for what it offers besides', () => {
    expect(bench.plugin().problem).toBeUndefined();
    expect(bench.plugin().alerts.filter(({ level }) => level !== 'info')).toEqual([]);
    const ids = bench.plugin().tools.map(({ id }) => id);
    for (const id of ['echo', 'simulate-research-query', 'trigger-sampling-request', 'trigger-url-elicitation', 'watch_resource', 'complete', 'get_prompt'])
      expect(ids).toContain(id);
  });

  test('answers with texts, pictures, links, resources and structured content', async () => {
    expect(await call(bench, 'echo', { message: 'ahoy' })).toBe('Echo: ahoy');
    expect(text(await call(bench, 'get-sum', { a: 2, b: 3 }))).toContain('5');
    expect(await call(bench, 'get-structured-content', { location: 'New York' })).toMatchObject({ conditions: expect.any(String) as string });
    expect(await call(bench, 'get-tiny-image')).toMatchObject({ content: expect.arrayContaining([expect.objectContaining({ type: 'image' })]) as unknown });
    expect(text(await call(bench, 'get-resource-links', { count: 2 }))).toContain('demo://resource/dynamic');
    expect(text(await call(bench, 'get-resource-reference', { resourceType: 'Text', resourceId: 1 }))).toContain('demo://resource/dynamic/text/1');
    const packed = { name: 'a.gz', data: 'data:text/plain,ahoy', outputType: 'resource' };
    expect(await call(bench, 'gzip-file-as-resource', packed)).toMatchObject({ content: [{ type: 'file', mediaType: 'application/gzip', name: 'a.gz' }] });
    expect(await call(bench, 'get-annotated-message', { messageType: 'error', includeImage: true })).toMatchObject({ content: expect.any(Array) as unknown });
  });

  test('reports progress, and is told to stop', async () => {
    const { heard, context } = conversation();
    await call(bench, 'trigger-long-running-operation', { duration: 1, steps: 2 }, context);
    expect(heard).toEqual(['1 of 2', '2 of 2']);
    const ended = new AbortController();
    const long = call(bench, 'trigger-long-running-operation', { duration: 60, steps: 60 }, { ...context, signal: ended.signal });
    await until(async () => heard.length > 2);
    ended.abort(new Error('enough'));
    await expect(long).rejects.toThrow('enough');
  });

  test('asks persons, with forms and pages, also as the condition of a call', async () => {
    const form = conversation({ name: 'Ada', check: true });
    expect(text(await call(bench, 'trigger-elicitation-request', {}, form.context))).toContain('Ada');
    expect(form.asked).toMatchObject([{ server: 'fix', message: 'Please provide inputs for the following fields:' }]);
    const page = conversation();
    const given = { url: 'https://pay.example/1', message: 'Pay there.' };
    expect(text(await call(bench, 'trigger-url-elicitation', given, page.context))).toContain('User completed the URL elicitation flow');
    expect(page.asked).toMatchObject([given]);
    const first = conversation();
    expect(text(await call(bench, 'trigger-url-elicitation', { ...given, errorPath: true }, first.context))).toContain('User completed');
    expect(first.asked.map((question) => 'url' in question && question.url)).toEqual(['https://modelcontextprotocol.io/', 'https://pay.example/1']);
  });

  test('asks the model', async () => {
    const { context } = conversation();
    expect(text(await call(bench, 'trigger-sampling-request', { prompt: 'How high?', maxTokens: 20 }, context))).toContain('to 2');
  });

  test('makes a call a task, which asks a person', async () => {
    const { asked, heard, context } = conversation({ interpretation: 'technical' });
    const report = await call(bench, 'simulate-research-query', { topic: 'tides', ambiguous: true }, context);
    expect(report).toContain('# Research Report: tides (technical)');
    expect(asked).toMatchObject([{ message: expect.stringContaining('"tides" could have multiple interpretations') as string }]);
    expect(heard.length).toBeGreaterThan(0);
    expect(await context.store?.list()).toEqual([]);
  }, 60_000);

  test('lists and reads resources and their templates, and says that one has changed that is watched', async () => {
    const { context } = conversation();
    const { resources } = (await call(bench, 'list_resources', {}, context)) as { resources: { uri: string }[] };
    expect(resources.length).toBeGreaterThan(0);
    expect(text(await call(bench, 'list_resources', { templates: true }, context))).toContain('demo://resource/dynamic/text/{resourceId}');
    expect(text(await call(bench, 'read_resource', { uri: resources[0]?.uri }, context))).toContain(resources[0]?.uri);
    const uri = 'demo://resource/dynamic/text/1';
    expect(await call(bench, 'watch_resource', { uri }, context)).toBe('It is watched.');
    const step = () => bench.plugin().promptText?.({ conversationId: 'conv_1', store: context.store } as PluginConversation);
    await step();
    await call(bench, 'toggle-subscriber-updates', {}, context);
    await until(async () => ((await step()) ?? '').includes(`have changed since you read them. Read them again where that matters:\n> ${uri}`));
    await call(bench, 'toggle-subscriber-updates', {}, context);
  }, 60_000);

  test('fills in prompts, and suggests values for their arguments and for variables of templates', async () => {
    const { context } = conversation();
    expect(text(await call(bench, 'list_prompts', {}, context))).toContain('completable-prompt');
    expect(text(await call(bench, 'get_prompt', { name: 'args-prompt', arguments: { city: 'Oslo' } }, context))).toContain("What's weather in Oslo?");
    const complete = (input: object) => call(bench, 'complete', input, context);
    expect(await complete({ of: 'prompt', name: 'completable-prompt', argument: 'department', value: 'S' })).toMatchObject({ values: ['Sales', 'Support'] });
    const known = { department: 'Sales' };
    expect(await complete({ of: 'prompt', name: 'completable-prompt', argument: 'name', value: 'E', known })).toMatchObject({ values: ['Eve'] });
    expect(await complete({ of: 'resource', name: 'demo://resource/dynamic/text/{resourceId}', argument: 'resourceId', value: '7' })).toMatchObject({
      values: ['7'],
    });
  });

  test('logs, and says what it is for', async () => {
    await call(bench, 'toggle-simulated-logging');
    await bench.until(() => bench.logged.some((line) => line.startsWith('an MCP server logs')));
    await call(bench, 'toggle-simulated-logging');
    expect(await bench.plugin().promptText?.({} as never)).toMatch(/^What the MCP server fix says about its tools, in its own words\./);
  });
});

proof('the other reference servers', () => {
  let directory: string;
  beforeAll(async () => (directory = await mkdtemp(join(tmpdir(), 'longshore-mcp-'))));
  afterAll(async () => rm(directory, { recursive: true }));

  test('files: writes, edits, lists, finds, moves and reads within its directory, and refuses what is outside', async () => {
    await using bench = await openBench(stdio('filesystem', [directory]));
    const path = (name: string) => join(directory, name);
    await call(bench, 'create_directory', { path: path('notes') });
    await call(bench, 'write_file', { path: path('notes/a.txt'), content: 'one\ntwo\n' });
    await call(bench, 'edit_file', { path: path('notes/a.txt'), edits: [{ oldText: 'two', newText: 'three' }] });
    expect(await readFile(path('notes/a.txt'), 'utf8')).toBe('one\nthree\n');
    expect(text(await call(bench, 'list_directory', { path: path('notes') }))).toContain('a.txt');
    expect(text(await call(bench, 'search_files', { path: directory, pattern: '**/*.txt' }))).toContain('a.txt');
    await call(bench, 'move_file', { source: path('notes/a.txt'), destination: path('b.txt') });
    expect(await call(bench, 'read_text_file', { path: path('b.txt') })).toEqual({ content: 'one\nthree\n' });
    await writeFile(path('dot.png'), Buffer.from('iVBORw0KGgo=', 'base64'));
    expect(text(await call(bench, 'read_media_file', { path: path('dot.png') }))).toContain('image/png');
    expect(text(await call(bench, 'read_text_file', { path: '/etc/passwd' }))).toContain('Access denied');
  });

  test('memory: keeps a graph of what it was told, and tells of changes of it', async () => {
    await using bench = await openBench(stdio('memory', [], { MEMORY_FILE_PATH: join(directory, 'memory.json') }));
    const { context } = conversation();
    await call(bench, 'create_entities', { entities: [{ name: 'Ada', entityType: 'person', observations: ['likes tides'] }] }, context);
    await call(bench, 'add_observations', { observations: [{ entityName: 'Ada', contents: ['lives in Oslo'] }] }, context);
    expect(await call(bench, 'search_nodes', { query: 'Oslo' }, context)).toMatchObject({
      entities: [{ name: 'Ada', observations: ['likes tides', 'lives in Oslo'] }],
    });
    const { resources } = (await call(bench, 'list_resources', {}, context)) as { resources: { uri: string }[] };
    const uri = resources[0]?.uri ?? '';
    await call(bench, 'watch_resource', { uri }, context);
    const step = () => bench.plugin().promptText?.({ conversationId: 'conv_1', store: context.store } as PluginConversation);
    await step();
    await until(async () => {
      await call(bench, 'add_observations', { observations: [{ entityName: 'Ada', contents: [`has ${Math.random()}`] }] }, context);
      return ((await step()) ?? '').includes(uri);
    });
    await call(bench, 'delete_entities', { entityNames: ['Ada'] }, context);
    expect(await call(bench, 'read_graph', {}, context)).toMatchObject({ entities: [], relations: [] });
  });

  test('sequential thinking: counts thoughts', async () => {
    await using bench = await openBench(stdio('sequential-thinking'));
    const thought = { thought: 'The tide is high.', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 };
    expect(await call(bench, 'sequentialthinking', thought)).toMatchObject({ thoughtNumber: 1, thoughtHistoryLength: 1 });
  });
});

async function serveEverything(): Promise<{ server: McpRemote; stop: () => Promise<void> }> {
  const port = await freePort();
  const child = spawn(process.execPath, [programOf('everything'), 'streamableHttp'], {
    env: { ...process.env, PORT: `${port}` },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  child.stderr.resume();
  const url = `http://127.0.0.1:${port}/mcp`;
  await until(async () =>
    fetch(url).then(
      () => true,
      () => false,
    ),
  );
  const stop = async () => {
    child.kill('SIGKILL');
    await once(child, 'close');
  };
  return { server: { url, headers: {}, timeoutMs: 30_000 }, stop };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

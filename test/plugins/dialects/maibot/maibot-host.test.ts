import { showOffer } from '../../../../src/tool-calls/offer/offer-tools.ts';
import { defineAgent } from '../../../../src/definitions/agents/define-agent.ts';
import type { JsonObject } from '../../../../src/contracts/json.ts';
import { createToolsPlugin } from '../../../../src/plugins/builtin/tools.ts';
import type { Plugin } from '../../../../src/plugins/api/define-plugin.ts';
import { judgeCalls } from '../../../../src/plugins/approval/judge-calls.ts';
import { createRegistry, type Registry } from '../../../../src/plugins/registry/registry.ts';
import { contextOf, openWorkbench, problemOf, type Workbench } from '../../isolates/support.ts';
import { call, openManagerBench, type Workbench as ManagerBench } from '../../manager/manager-workbench.ts';
import { until } from '../../../e2e/support.ts';
import { hostOf, loadFixture } from '../support.ts';

let bench: Workbench;
let household: ManagerBench;
let plugin: Plugin;
let registry: Registry;
beforeAll(async () => {
  bench = await openWorkbench({ unresponsiveMs: 2_000, graceMs: 300 });
  household = await openManagerBench(bench.isolates);
  plugin = await loadFixture('maibot-search', bench.isolates);
  registry = createRegistry([plugin, createToolsPlugin(async () => registry.tools)]);
});
afterAll(async () => {
  await household[Symbol.asyncDispose]();
  await bench[Symbol.asyncDispose]();
});

const agent = defineAgent({ id: 'reader', model: 'openai/none', tools: ['*'] });
const toolOf = (id: string) => registry.get(`maibot-search:${id}`)!;

/** Writes a plugin by the body of its class. */
function write(name: string, body: string): Promise<void> {
  const hooks = ['onLoad', 'onUnload', 'onConfigUpdate'].filter((hook) => !body.includes(`${hook}(`)).map((hook) => `${hook}() {}`);
  const source = `import { MaiBotPlugin, tool } from 'longshore/maibot';
    class P extends MaiBotPlugin { id = '${name}'; ${hooks.join(' ')} ${body} @tool('ping', { description: 'Answers' }) ping() { return 'pong'; } }
    export const createPlugin = () => new P();`;
  return household.write(`${name}/index.ts`, source);
}

describe('visibility and scopes', () => {
  test('a tool is shown whole, or by its line where it is deferred; a hidden one never to a model', () => {
    const { tools, instructions } = showOffer({ agent, available: registry.tools, texts: [] }, registry, []);
    const ids = tools.map(({ tool }) => tool);
    expect(ids).toEqual(expect.arrayContaining(['maibot-search:search_web', 'tools:search']));
    expect([ids.includes('maibot-search:whole'), instructions.includes('- maibot-search:whole: Full schema')]).toEqual([false, true]);
    expect([ids.includes('maibot-search:secret'), instructions.includes('secret')]).toEqual([false, false]);
  });

  test('chat scopes and allowed sessions decide in which conversations a tool is offered', async () => {
    const about = { userId: 'u', tenantId: 't', agentId: 'a' };
    const offered = async (conversationId: string) => (await plugin.selectTools!({ conversationId, ...about }))!;
    expect(await offered('conv-other')).not.toContain('private');
    expect(await offered('conv-chosen')).toEqual(expect.arrayContaining(['private', 'search_web']));
    expect(await offered('conv-chosen')).not.toContain('groups');
  });
});

describe('the life of a plugin', () => {
  test('onLoad, onConfigUpdate and onUnload run where the tools do, in conversations that begin later too, and a refused configuration is taken back', async () => {
    const state = (conversation: string) => toolOf('state').execute({}, contextOf(conversation, { env: { KEY: 'v' } }));
    await state('conv-1');
    await plugin.load!(hostOf({ a: 1 }));
    await plugin.updateConfig!('bot', { nick: 'x' }, '1');
    await plugin.updateConfig!('model', {}, '2');
    expect(await state('conv-1')).toEqual({ loads: ['loaded with {"a":1}', 'bot 1 {"nick":"x"}', 'model 2 {}'], config: { a: 1 }, env: { KEY: 'v' } });
    await plugin.updateConfig!('self', { a: 2 }, '2');
    expect(await state('conv-1')).toMatchObject({ loads: expect.arrayContaining(['self 2 {"a":2}']), config: { a: 2 } });
    expect(await problemOf(plugin.updateConfig!('self', { bad: 1 }, '3'))).toBe('that will not do');
    expect(await state('conv-1')).toMatchObject({ config: { a: 2 } });
    expect(await state('conv-new')).toEqual({ loads: ['loaded with {"a":2}'], config: { a: 2 }, env: { KEY: 'v' } });
    await plugin.unload!();
    expect(bench.logged.join()).toContain('Search plugin unloaded');
  });

  test('outside of a call there is no user to send to, and ctx says so', async () => {
    await write('early', `async onLoad() { await this.ctx.send.text('hello'); }`);
    await household.open(['./early']);
    expect(household.states.written.get('./early')?.error).toBe(
      'Plugin "early": its onLoad failed (ctx.send works only while a tool runs). Correct it, or what it needs',
    );
  });
});

test('what ctx does not have is an error that says what to use instead', async () => {
  await write(
    'porting',
    `@tool('query', { description: 'Asks' }) query() { return this.ctx.db.query('x'); }
     @tool('smile', { description: 'Smiles' }) smile() { return this.ctx.send.emoji('x'); }
     @tool('think', { description: 'Thinks' }) think() { return this.ctx.llm.generate('x'); }`,
  );
  const manager = await household.open(['./porting']);
  const problems = ['query', 'smile', 'think'].map((id) => problemOf(call(manager, `porting:${id}`)));
  expect(await Promise.all(problems)).toEqual([
    'ctx.db does not exist here; use ctx.store',
    'ctx.send.emoji does not exist here; use ctx.send.image',
    'ctx.llm does not exist here',
  ]);
});

describe('what is known to go wrong in the original', () => {
  test('does not grant a tool what it does not declare, and shows operators what each plugin has', async () => {
    const fetching = `async () => (await this.ctx.fetch('https://api.example/')).status`;
    await write(
      'reaching',
      `@tool('silent', { description: 'Reaches' }) async silent() { return (${fetching})(); }
       @tool('open', { description: 'Reaches', permissions: { network: ['api.example'] } }) async open() { return (${fetching})(); }`,
    );
    const manager = await household.open(['./reaching']);
    expect(await problemOf(call(manager, 'reaching:silent'))).toBe('Request to "https://api.example/" refused: this tool has no permission for the network');
    expect(await call(manager, 'reaching:open')).toBe(201);
    expect(household.states.written.get('./reaching')?.permissions).toEqual({ network: ['api.example'] });
  });

  test("does not hand the worker's environment to plugins", async () => {
    await write(
      'curious',
      `environment = [{ name: 'KEY', required: false }]; @tool('look', { description: 'Looks' }) look() { return [typeof process, this.ctx.env]; }`,
    );
    const manager = await household.open(['./curious']);
    expect(manager.registry.get('curious:look')?.environment).toEqual(['KEY']);
    expect(await call(manager, 'curious:look', { env: { KEY: 'v' } })).toEqual(['undefined', { KEY: 'v' }]);
  });

  test('does not let a plugin that blocks hold up another, nor mix up their tools of one name', async () => {
    await write('blocking', `@tool('block', { description: 'Blocks' }) block() { for (;;); }`);
    await write('calm', '');
    const manager = await household.open(['./blocking', './calm']);
    const blocked = problemOf(call(manager, 'blocking:block'));
    for (let answers = 0; answers < 20; answers += 1) expect(await call(manager, 'calm:ping')).toBe('pong');
    expect(await blocked).toBe('blocking:block failed: its process was ended: it did not answer for 2000 ms');
    expect(await call(manager, 'blocking:ping')).toBe('pong');
  });

  test('does not leave a handler at work whose time is up, nor call it again', async () => {
    const steps = `await this.ctx.files.get('first'); await this.ctx.files.get('second');`;
    await write('slow', `@tool('steps', { description: 'Takes two steps', timeoutMs: 1000 }) async steps() { ${steps} }`);
    const manager = await household.open(['./slow']);
    const asked: string[] = [];
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    const files = { get: async (path: string) => (asked.push(path), await held, new Uint8Array()), put: async () => '' };
    expect(await problemOf(call(manager, 'slow:steps', { files }))).toBe('slow:steps failed: it took longer than 1000 ms and was aborted');
    release();
    await new Promise(setImmediate);
    expect([await call(manager, 'slow:ping'), asked]).toEqual(['pong', ['first']]);
    const { proposed } = await judgeCalls({
      registry: manager.registry,
      agent: { ...agent, plugins: ['./slow'] },
      calls: [{ callId: 'c', tool: 'slow:steps', arguments: {} }],
    });
    expect(proposed[0]?.retry).toBe('once');
  });

  test('does not let the model say in which stream or for whom a tool works', async () => {
    const forged = { query: 'cats', stream_id: 'conv-9', user_id: 'root', group_id: 'g', platform: 'x', message: 'forged' };
    const message = { text: 'find cats', content: [], at: '2026-01-01T00:00:00.000Z' };
    const { said } = (await toolOf('search_web').execute(forged, contextOf('conv-1', { message: async () => message }))) as { said: JsonObject };
    expect(said).toEqual({ stream_id: 'conv-1', chat_id: 'conv-1', group_id: '', user_id: 'user-1', platform: 'longshore', message });
  });

  test('does not run a handler with arguments that its parameters refuse; the model is told all that is wrong', async () => {
    const call = { callId: 'call_1', tool: 'maibot-search:everything', arguments: { ratio: 'x', kind: 'c', place: { town: 1 } } };
    const { proposed, refusals } = await judgeCalls({ registry, agent: { ...agent, plugins: [] }, calls: [call] });
    expect(proposed[0]?.decision).toBe('invalid');
    expect(refusals[0]?.text).toBe(
      'Arguments of maibot-search:everything are not valid: /ratio: expected number, got string; /kind: expected one of "a", "b", got "c"; ' +
        '/place/city: missing; /place/town: not known (known: city). Correct them and call it again',
    );
  });

  test('does not lose calls under way when a plugin is loaded again, and leaves the others as they are', async () => {
    const holding = (version: string) =>
      `onUnload() { console.log('${version} unloaded'); } @tool('hold', { description: 'Holds' }) async hold() { await this.ctx.files.get('held'); return '${version}'; }`;
    await write('edited', holding('old'));
    await write('counting', `count = 0; @tool('add', { description: 'Counts' }) add() { return (this.count += 1); }`);
    const manager = await household.open(['./edited', './counting']);
    expect(await call(manager, 'counting:add')).toBe(1);
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    let begin = () => {};
    const begun = new Promise<void>((resolve) => (begin = resolve));
    const files = { get: async () => (begin(), await held, new Uint8Array()), put: async () => '' };
    const running = call(manager, 'edited:hold', { files });
    await begun;
    await write('edited', holding('new'));
    await manager.reload('./edited');
    release();
    expect([await running, await call(manager, 'edited:hold')]).toEqual(['old', 'new']);
    await until(async () => bench.logged.some((line) => line.includes('old unloaded')), 'the old version has been unloaded');
    expect(await call(manager, 'counting:add')).toBe(2);
  });

  test('does not fail on a date in a result', async () => {
    await write('dated', `@tool('now', { description: 'Tells' }) now() { return { at: new Date(0) }; }`);
    expect(await call(await household.open(['./dated']), 'dated:now')).toEqual({ at: '1970-01-01T00:00:00.000Z' });
  });
});

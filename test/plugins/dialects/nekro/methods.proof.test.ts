import { resultContentOf } from '../../../../src/tool-calls/results/tool-result.ts';
import { createRegistry } from '../../../../src/plugins/registry/registry.ts';
import { contextOf, problemOf, run, type TestContext } from '../../isolates/support.ts';
import { mount, openTrials } from './trials.ts';

const trials = openTrials();
const { load } = trials;

describe('TOOL', () => {
  test('returns any JSON value to the code that called it, and nothing is null', async () => {
    for (const value of ['text', 7, 2.5, true, [1, ['a']], { a: { b: null } }]) {
      expect(await run(await load(mount(`async function give(ctx) { return ${JSON.stringify(value)}; }`)), 'give')).toEqual(value);
    }
    expect(await run(await load(mount('async function none(ctx) {}')), 'none')).toBeNull();
  });

  test('has the clock and random numbers, unless they are refused', async () => {
    const method = mount('async function clock(ctx) { return [new Date().toISOString().length, typeof Math.random()]; }');
    expect(await run(await load(method), 'clock')).toEqual([24, 'number']);
    expect(await problemOf(run(await load(method, 'permissions: { time: false }'), 'clock'))).toContain('secure mode');
  });

  test('that returns what is no JSON says so', async () => {
    const plugin = await load(mount('async function circle(ctx) { const a = {}; a.a = a; return a; }'));
    expect(await problemOf(run(plugin, 'circle'))).toBe('it returned a value that is not JSON: result.a contains itself, a circular structure');
  });

  test.each([
    ['{ a: [1, NaN] }', 'result.a[1] is NaN; return null or a text'],
    ['new Map()', 'result is a Map; return Object.fromEntries(it)'],
    ['[new Set()]', 'result[0] is a Set; return [...it]'],
    ['new Uint8Array(2)', 'result is bytes; put them into the sandbox with ctx.fs.mixedForwardFile and return the path'],
    ['() => 1', 'result is a function'],
    ['10n', 'result is a bigint'],
  ])('that returns what would become something else on its way says so: %s', async (returned, problem) => {
    expect(await problemOf(run(await load(mount(`async function give(ctx) { return ${returned}; }`)), 'give'))).toBe(
      `it returned a value that is not JSON: ${problem}`,
    );
  });
});

describe('AGENT and BEHAVIOR', () => {
  test('return a text', async () => {
    expect(await run(trials.harbour, 'search_kb', { query: 'tides' })).toBe("No information related to 'tides' was found in the knowledge base.");
    const context = contextOf('conv-1');
    expect(await run(trials.harbour, 'send_chat_message', { text_to_send: 'Ahoy' }, context)).toBe("Message 'Ahoy' has been sent.");
    expect(context.told).toEqual(['send "Ahoy"']);
  });

  test.each(['AGENT', 'BEHAVIOR'])('%s must return a text: anything else is an error that names the method and both types', async (kind) => {
    const plugin = await load(mount('async function counts(ctx) { return 5; }', kind));
    const { content } = await resultContentOf(createRegistry([plugin]).get('trial:counts')!, await run(plugin, 'counts'));
    const named = `trial:counts returned a number; a tool of kind "${kind.toLowerCase()}" returns a text. Correct the plugin.`;
    expect(content).toEqual([{ type: 'text', text: named }]);
  });
});

describe('MULTIMODAL_AGENT', () => {
  const show = async (returned: string, context?: TestContext, options = '') =>
    run(await load(mount(`async function show(ctx) { return ${returned}; }`, 'MULTIMODAL_AGENT'), options), 'show', {}, context);
  const PNG = 'iVBORw0KGgo=';

  test('returns message parts as OpenAI defines them: texts, and images by data or by URL', async () => {
    expect(await run(trials.harbour, 'draw', { topic: 'boats' })).toEqual({
      content: [
        { type: 'text', text: "This is an image about 'boats'." },
        { type: 'image', mediaType: 'image/png', data: PNG },
      ],
    });
    const asked: string[] = [];
    const fetch = async (url: string | URL) => (asked.push(String(url)), new Response(Buffer.from(PNG, 'base64'), { status: asked.length > 1 ? 404 : 200 }));
    const part = `[{ type: 'image_url', image_url: { url: 'https://pictures.example/boat.png' } }]`;
    const network = `permissions: { network: ['pictures.example'] }`;
    expect(await show(part, contextOf('conv-1', { fetch }), network)).toEqual({ content: [{ type: 'image', mediaType: 'image/png', data: PNG }] });
    expect(await problemOf(show(part, contextOf('conv-1', { fetch }), network))).toBe(
      'the image at https://pictures.example/boat.png could not be fetched: the server answered 404',
    );
    expect(await problemOf(show(part))).toContain('this tool has no permission for the network');
  });

  test('returns audio and files as well', async () => {
    const audio = `{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } }`;
    const file = `{ type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERg==' } }`;
    expect(await show(`[${audio}, ${file}]`)).toEqual({
      content: [
        { type: 'file', mediaType: 'audio/mpeg', name: 'audio.mp3', data: 'AAAA' },
        { type: 'file', mediaType: 'application/pdf', name: 'a.pdf', data: 'JVBERg==' },
      ],
    });
  });

  test('may return a text, a single part or a whole message instead of a list', async () => {
    const text = { content: [{ type: 'text', text: 'low water' }] };
    for (const returned of [`'low water'`, `{ type: 'text', text: 'low water' }`, `{ role: 'user', content: 'low water' }`]) {
      expect(await show(returned)).toEqual(text);
    }
  });

  test('that returns anything else is an error that names the part', async () => {
    const known = 'known are text, image_url, input_audio and file as OpenAI has them';
    expect(await problemOf(show(`{ type: 'video' }`))).toBe(`it returned a part of type "video" that cannot be shown; ${known}`);
    expect(await problemOf(show(`[{ type: 'image_url', image_url: {} }]`))).toContain('a part of type "image_url" that cannot be shown');
    expect(await problemOf(show('null'))).toContain('a part of type undefined that cannot be shown');
  });
});

describe('errors', () => {
  test('a method that fails is an error with its message', async () => {
    const plugin = await load(mount('async function fails(ctx) { throw new Error("the tide is out"); }', 'AGENT'));
    expect(await problemOf(run(plugin, 'fails'))).toBe('the tide is out');
  });
});

describe('the context', () => {
  test('is the first argument, and has the conversation and really the user', async () => {
    const plugin = await load(mount('async function who(ctx) { return [ctx.chatKey, ctx.fromChatKey, ctx.userId, ctx.fromUserId]; }'));
    expect(await run(plugin, 'who')).toEqual(['conv-1', 'conv-1', 'user-1', 'user-1']);
  });

  test('forwards URLs, data URLs, bytes and files of the host, and fetches files of the sandbox', async () => {
    const put: unknown[] = [];
    const files = { put: async (...given: unknown[]) => (put.push(given), '/home/user/files/x'), get: async (path: string) => new TextEncoder().encode(path) };
    const plugin = await load(
      mount(`async function forward(ctx) {
        for (const from of ['https://a.example/b.png', 'data:text/plain;base64,aGk=', new Uint8Array([1]), 'host.txt']) await ctx.fs.mixedForwardFile(from, 'n');
        return new TextDecoder().decode(await ctx.fs.getFile('../../etc/passwd'));
      }`),
    );
    // What a path may reach is the sandbox's to say: it is opened there, by its user.
    expect(await run(plugin, 'forward', {}, contextOf('conv-1', { files }))).toBe('../../etc/passwd');
    expect(put.map((given) => (given as unknown[])[0])).toMatchObject([
      { url: 'https://a.example/b.png' },
      { name: 'n' },
      { name: 'n' },
      { hostPath: 'host.txt' },
    ]);
  });

  test('forwards files of the host by their paths, tells where they are, and says what is no file', async () => {
    const put: unknown[] = [];
    const files = { put: async (...given: unknown[]) => (put.push(given), '/home/user/files/n'), get: async () => new Uint8Array() };
    const plugin = await load(
      mount(`async function forward(ctx) {
        await ctx.fs.forwardFile('a.txt');
        await ctx.fs.mixedForwardFile(new ArrayBuffer(2), 'b');
        const problem = await ctx.fs.mixedForwardFile(5).catch((error) => error.message);
        return [ctx.fs.sharedPath, problem];
      }`),
    );
    const problem = 'a file is given as a text (a URL or a path) or as bytes (a Uint8Array), not as number';
    expect(await run(plugin, 'forward', {}, contextOf('conv-1', { files }))).toEqual(['/home/user/files', problem]);
    expect(put).toMatchObject([
      [{ hostPath: 'a.txt' }, {}],
      [{ name: 'b' }, { name: 'b' }],
    ]);
  });

  test('sends by message and ctx.ms as well, with the key of its own conversation', async () => {
    const context = contextOf('conv-1');
    const plugin = await load(
      mount(`async function tell(ctx) {
        await message.sendText(ctx.fromChatKey, 'Ahoy', ctx);
        await ctx.ms.sendText(ctx.chatKey, 'again', ctx);
        return [await message.sendText('conv-2', 'psst', ctx).catch((error) => error.message), await message.sendText('conv-1', 'x').catch((error) => error.message)];
      }`),
    );
    expect(await run(plugin, 'tell', {}, context)).toEqual([
      'nothing can be sent to another conversation ("conv-2") from this one',
      'the last argument has to be the context of the method',
    ]);
    expect(context.told).toEqual(['send "Ahoy"', 'send "again"']);
  });

  test.each([
    ['ctx.channelName', 'ctx has no channelName: there are no chat channels here; ctx.chatKey is the conversation'],
    ['ctx.send_text("a")', 'ctx has no send_text: write sendText'],
    ['ctx.db_user', 'ctx has no db_user: there is no table of users; ctx.userId is the user of the conversation'],
    ['ctx.fs.upload_path', 'ctx.fs has no upload_path: there is no directory for uploads; files for the sandbox are below ctx.fs.sharedPath'],
  ])('says what to use instead of what the original has and it has not: %s', async (used, problem) => {
    expect(await problemOf(run(await load(mount(`async function use(ctx) { return ${used}; }`)), 'use'))).toBe(problem);
  });

  test.each(['AGENT', 'BEHAVIOR'])('pushes notes for the model, and with triggerAgent wakes it: %s', async (kind) => {
    const body = 'async function push(ctx) { await ctx.pushSystem("low water"); await ctx.pushSystem("now", { triggerAgent: true }); return "told"; }';
    const context = contextOf('conv-1');
    expect(await run(await load(mount(body, kind)), 'push', {}, context)).toBe('told');
    expect(context.told).toEqual(['note low water', 'note now and wake']);
  });

  test('sends texts, images and files, given as bytes, data URLs or files of the sandbox', async () => {
    const files = { put: async () => '', get: async () => new Uint8Array([0xff, 0xd8, 0xff, 0xe0]) };
    const context = contextOf('conv-1', { files });
    const plugin = await load(
      mount(`async function tell(ctx) {
        await ctx.sendText('Ahoy');
        await ctx.sendImage('data:image/png;base64,iVBORw0KGgo=');
        await ctx.sendImage('/home/user/boat.jpg');
        await ctx.sendFile(new Uint8Array([104, 105]), 'hi.txt');
        await ctx.sendFile('/home/user/out/log.txt');
        await ctx.sendImage(new Uint8Array([1, 2])).catch((error) => ctx.sendText(error.message));
      }`),
    );
    await run(plugin, 'tell', {}, context);
    const file = (name: string, data: string) => `send ${JSON.stringify({ type: 'file', mediaType: 'application/octet-stream', name, data })}`;
    expect(context.told).toEqual([
      'send "Ahoy"',
      'send {"type":"image","mediaType":"image/png","data":"iVBORw0KGgo="}',
      'send {"type":"image","mediaType":"image/jpeg","data":"/9j/4A=="}',
      file('hi.txt', 'aGk='),
      file('log.txt', '/9j/4A=='),
      'send "this is no image; PNG, JPEG, GIF and WebP can be shown"',
    ]);
  });

  test('has the configuration, and so has plugin.getConfig', async () => {
    const plugin = await load(mount('async function settings(ctx) { return [ctx.config, plugin.getConfig()]; }'));
    expect(await run(plugin, 'settings', {}, contextOf('conv-1', { config: { port: 7 } }))).toEqual([{ port: 7 }, { port: 7 }]);
  });
});

describe('the store', () => {
  test('keeps JSON values for a conversation, a user, both or all, tells what a change did, and has no entries of others', async () => {
    const scopes: unknown[] = [];
    const store = {
      set: async (...given: unknown[]) => (scopes.push(given), ['created', 'updated', 'conflict'][scopes.length - 1]),
      delete: async () => scopes.length > 2,
      get: async () => undefined,
      entry: async () => ({ value: 1, version: 8 }),
    };
    const plugin = await load(
      mount(`async function keep(ctx, userKey: string, chatKey = '') {
        const set = await plugin.store.set({ userKey, chatKey, storeKey: 'k', value: { n: 1 }, ttlMs: 5, ifVersion: 0 });
        return [set, await plugin.store.delete({ storeKey: 'k' }), (await plugin.store.entry({ storeKey: 'k' })).version];
      }`),
    );
    const keep = (input: object) => run(plugin, 'keep', input, contextOf('conv-1', { store: store as never }));
    expect([await keep({ userKey: 'user-1' }), await keep({ userKey: '', chatKey: 'conv-1' }), await keep({ userKey: 'user-1', chatKey: 'conv-1' })]).toEqual([
      [0, 1, 8],
      [1, 1, 8],
      [2, 0, 8],
    ]);
    expect(scopes.map((given) => (given as [unknown, unknown, { scope: string }])[2].scope)).toEqual(['user', 'conversation', 'conversation-user']);
    expect(await problemOf(keep({ userKey: 'user-2' }))).toBe('the store has no entries of another user ("user-2") for this one');
    expect(await problemOf(keep({ userKey: '', chatKey: 'conv-2' }))).toBe('the store has no entries of another conversation ("conv-2") for this one');
  });

  test('works only while a method runs', async () => {
    const plugin = await load(`plugin.mountInitMethod(async () => { await plugin.store.get({ storeKey: 'k' }); });
${mount('async function now(ctx) { return 1; }')}`);
    expect(await problemOf(plugin.load!({ env: {}, config: {}, logger: { info: () => {}, warn: () => {} } }))).toContain(
      'plugin.store works only while a method of the plugin runs',
    );
  });
});

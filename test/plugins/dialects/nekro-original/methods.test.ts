import { failure } from '../../../../src/contracts/errors.ts';
import type { PluginConversation } from '../../../../src/plugins/api/plugin.ts';
import { bringFiles } from '../../../../src/plugins/dialects/nekro/original/caller.ts';
import { describedSchema, type Described } from '../../../../src/plugins/dialects/nekro/original/described.ts';
import { partsOf } from '../../../../src/plugins/dialects/nekro/original/methods.ts';
import { isCallable } from '../../../../src/plugins/registry/is-callable.ts';

const ID = 'harbour-tides';
const conversation = { conversationId: 'conv_1', userId: 'user-1', tenantId: 'default', agentId: 'sailor' } as PluginConversation;
const parameters = (names: string[]) => ({
  type: 'object',
  properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
  required: names,
  additionalProperties: false,
});
const method = (name: string, { kind = 'tool', doc = `Does ${name}.`, names = [] as string[] } = {}) => ({
  name,
  title: name,
  description: '',
  doc,
  kind,
  parameters: parameters(names),
  names,
});

function described(fields: object): Described {
  const tools = [method('tide', { names: ['harbour'] }), method('judge', { kind: 'agent' })];
  const none = {
    sleepBrief: '',
    allowSleep: true,
    commands: [],
    webhooks: [],
    others: [],
    configSchema: null,
    injects: false,
    collects: false,
    absent: [],
    readsFiles: false,
    setsTimers: false,
  };
  return describedSchema.parse({ name: 'Tides', moduleName: 'harbour_tides', version: '1', description: '', tools, ...none, ...fields });
}

/** A plugin whose process gives these answers, in their order. */
function bench(fields: object, ...answers: object[]) {
  const did: unknown[] = [];
  const timers = {
    waiting: async () => [{ timerId: 'known', dueMs: 1_500, text: 'low tide', temporary: true }],
    set: async (...given: unknown[]) => (did.push('set', ...given), did.length > 20 ? 'full' : 'set'),
    clear: async (...given: unknown[]) => void did.push('clear', ...given),
  };
  const handle = {
    async callServer(_server: unknown, { params }: { params: { name: string; caller: object } }) {
      did.push(params.name, params.caller);
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
      return answer;
    },
    forget: async () => undefined,
  };
  const own = { open: async () => ({ handle, held: true }), find: async () => undefined, forget: (tenantId: string) => void did.push(`forget ${tenantId}`) };
  const reached = { pluginId: ID, timers: timers as never, own: own as never, server: () => ({ name: 's' }) as never, settings: () => ({}) };
  return { parts: partsOf(ID, described(fields), reached), did };
}

const told = (text: string, methods: string[] | null = null) => ({ outcome: 'answered', result: { value: { text, methods } } });
const CALLS = 'Python and JavaScript code that you run in the sandbox may call these functions by their names, without an import:';

test('the instructions have what the plugin says and its methods, without asking a plugin that says nothing', async () => {
  const { parts, did } = bench({});
  expect(await parts.promptText?.(conversation)).toBe(
    `<plugin name="Tides">\n${CALLS}\n\ntide(harbour: str)\nDoes tide.\n\njudge() — the program ends at this call\nDoes judge.\n</plugin>`,
  );
  expect([did, parts.selectTools]).toEqual([[], undefined]);
  const asked = bench({ injects: true }, told('High water.'));
  expect(await asked.parts.promptText?.(conversation)).toContain(`<plugin name="Tides">\nHigh water.\n\n${CALLS}`);
  expect(asked.did[1]).toMatchObject({ chat_key: 'conv_1', user_id: 'user-1', agent_id: 'sailor', files: {} });
});

test('only the methods that it chooses are offered and described', async () => {
  const { parts } = bench({ collects: true }, told('', ['tide']), told('', ['tide']));
  expect(await parts.selectTools?.(conversation)).toEqual(['tide']);
  expect(await parts.promptText?.(conversation)).not.toContain('judge');
});

test('a container that has died is replaced before the plugin is asked again, and an error of the plugin is not asked twice', async () => {
  const died = bench({ collects: true }, new Error('gone'), told('', ['tide']));
  expect(await died.parts.selectTools?.(conversation)).toEqual(['tide']);
  expect(died.did).toContain('forget default');
  const broken = bench({ collects: true }, { outcome: 'refused', message: 'KeyError: 1' });
  await expect(broken.parts.selectTools?.(conversation)).rejects.toThrow('KeyError: 1');
  expect(broken.did).toHaveLength(2);
});

test('a plugin that sleeps is told of by its brief, and the key of the conversation where a method wants it', async () => {
  const { parts } = bench({ sleepBrief: 'For tides.', tools: [method('note', { names: ['chat_key'] })] });
  expect(await parts.promptText?.(conversation)).toBe(
    `<plugin name="Tides">\nFor tides.\n\nchat_key of this conversation: "conv_1"\n\n${CALLS}\n\nnote(chat_key: str)\nWhat one of them does is printed by help(…) in Python; read that before you call it.\n</plugin>`,
  );
});

test('methods that code cannot call, that have no comment or that nobody calls, and what does not exist are alerts', () => {
  const { parts } = bench({
    tools: [method('潮汐'), method('then'), method('sum'), method('tide', { doc: '' })],
    others: [
      { type: 'ROUTER', name: 'a' },
      { type: 'ROUTER', name: 'b' },
    ],
    absent: [{ name: 'nonebot.get_bot', refusal: 'there is no bot' }],
  });
  expect(parts.tools.map(({ id }) => id)).toEqual(['sum', 'tide']);
  expect(parts.alerts?.map(({ text }) => text)).toEqual([
    'the method "潮汐" is left out, since code cannot call it: only letters, digits and _ can be used, 80 at most, and no digit comes first',
    'the method "then" is left out, since code cannot call it: in JavaScript every object has it',
    'the method "sum" cannot be called by that name alone: in Python it means what is built in. The instructions describe it as harbour_tides_sum, by which programs call it',
    'the method "tide" has no doc comment, so the model is told little about it',
    'Its functions of the kind ROUTER are not run, only its methods, commands and webhooks are: a, b',
    'It imports nonebot.get_bot, which is refused when it is used: there is no bot',
  ]);
});

test('a plugin that uses timers is told those of the conversation, and what a call changes of them counts once', async () => {
  const { parts, did } = bench({ setsTimers: true, injects: true }, told(''));
  await parts.promptText?.(conversation);
  expect(did[1]).toMatchObject({ timers: [{ id: 'known', due: 1, text: 'low tide', temporary: true }] });
  did.length = 0;
  const set = (id: string) => ({ set: { id, due: 9, text: 'high tide', temporary: false } });
  const answer = { value: 'set', timers: [set('+0'), { clear: ['known', '+0'] }, set('+1')] };
  const call = async (given: object = answer) => {
    const sandbox = { callServer: async () => ({ outcome: 'answered', result: given }) };
    return parts.tools[0]?.execute({ harbour: 'north' }, { ...conversation, callId: 'call_1', sandbox } as never);
  };
  await call();
  const timer = (timerId: string) => ({ timerId, dueMs: 9_000, text: 'high tide', temporary: false });
  const changes = ['set', 'conv_1', timer('call_1+0'), 'clear', 'conv_1', { timerIds: ['known', 'call_1+0'] }, 'set', 'conv_1', timer('call_1+1')];
  expect(did).toEqual(changes);
  // Another worker that attaches to the call gives the same.
  await call();
  expect(did.slice(changes.length)).toEqual(changes);
  await expect(call()).rejects.toThrow('100 timers of this plugin wait in the conversation, or were set there within an hour, which is the limit');
  await expect(call({ timers: [set('known')] })).rejects.toThrow('its answer is not usable');
});

describe('files that arguments name', () => {
  const asked: string[] = [];
  const written: string[] = [];
  const contextWith = (get: (path: string) => Uint8Array, existing: string[] = []) =>
    ({
      callId: 'call_1',
      files: {
        async get(path: string) {
          asked.push(path);
          return get(path);
        },
      },
      sandbox: {
        handle: async () => ({ fileExists: async (path: string) => existing.includes(path), writeFile: async (path: string) => void written.push(path) }),
      },
    }) as never;
  beforeEach(() => {
    asked.length = 0;
    written.length = 0;
  });

  test('are brought, wherever they are in the arguments, and other texts are not asked for', async () => {
    const input = {
      path: '/home/user/a b.txt',
      more: [{ to: 'logs/b' }, 'c.png'],
      text: 'Hello there. How are you',
      url: 'https://x.example/a.txt',
      data: 'data:text/plain,a.b',
    };
    expect(
      await bringFiles(
        input,
        contextWith(() => new Uint8Array(1)),
      ),
    ).toEqual({
      '/home/user/a b.txt': '/home/user/.longshore-calls/call_1/brought/0/a b.txt',
      'logs/b': '/home/user/.longshore-calls/call_1/brought/1/b',
      'c.png': '/home/user/.longshore-calls/call_1/brought/2/c.png',
    });
    expect(asked).toEqual(['/home/user/a b.txt', 'logs/b', 'c.png']);
  });

  test('are not written again by another attempt at the call, and one that does not exist is left out', async () => {
    const get = (path: string) => {
      if (path === '/b') throw failure('FILE_NOT_FOUND', { path });
      return new Uint8Array(1);
    };
    const first = '/home/user/.longshore-calls/call_1/brought/0/a';
    expect(await bringFiles({ paths: ['/a', '/b'] }, contextWith(get, [first]))).toEqual({ '/a': first });
    expect(written).toEqual([]);
  });

  test('do not hide that the sandbox is away, and are twenty at most', async () => {
    const away = contextWith(() => {
      throw failure('SANDBOX_LOST', { sandboxId: 'sbx_1', problem: 'gone' });
    });
    await expect(bringFiles({ path: '/a' }, away)).rejects.toMatchObject({ code: 'SANDBOX_LOST' });
    await bringFiles(
      { paths: Array.from({ length: 30 }, (_, index) => `/${index}`) },
      contextWith(() => new Uint8Array(1)),
    );
    expect(written).toHaveLength(20);
  });
});

test('a webhook is a tool that the plugin is known by, and that neither a model nor code calls', async () => {
  const webhooks = [{ endpoint: 'ship', name: 'A ship', description: '' }];
  const reached = { pluginId: ID, timers: {}, own: {}, server: () => ({ name: 's' }), settings: () => ({}) };
  const { tools, alerts } = partsOf(ID, described({ tools: [], webhooks }), reached as never);
  expect(tools.map(({ id, isolation, visibility, webhook }) => ({ id, isolation, visibility, webhook }))).toEqual([
    { id: 'webhook.ship', isolation: 'own', visibility: 'hidden', webhook: webhooks[0] },
  ]);
  expect([tools.some(isCallable), alerts]).toEqual([false, []]);
  await expect(tools[0]?.execute({}, {} as never)).rejects.toThrow('outside systems call it, and nothing else');
});

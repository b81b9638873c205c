import { defineAgent } from '../src/definitions/agents/define-agent.ts';
import { connect } from '../src/client.ts';
import { ERRORS } from '../src/contracts/error-table/error-rows.ts';
import { isFailure, LongshoreError } from '../src/contracts/errors.ts';
import { definePlugin, defineTool } from '../src/plugins/api/define-plugin.ts';
import { openPlugin } from '../src/plugins/testing/testing.ts';
import { registerSandboxBackend, sandboxes } from '../src/sandbox.ts';
import { defineTemplate } from '../src/definitions/templates/define-template.ts';
import { createDockerSandboxes } from '../src/sandbox/lifecycle/docker-sandboxes.ts';
import { createWorker } from '../src/worker.ts';
import { checkWorkerOptions } from '../src/worker/worker-options.ts';
import { HOSTILE, SANDBOX_SHAPE } from './support/hostile-values.ts';

type AnyFunction = (...given: unknown[]) => unknown;

const tool = { id: 't', description: 'd', parameters: { type: 'object' }, execute: async () => 'x' };
const defined = defineTool(tool as never);
const sandbox = {
  template: 't',
  ...SANDBOX_SHAPE,
  secrets: { A: 'b' },
  onClose: 'keep',
  assets: [],
  keepalive: '1h',
  idle: { freeze: '1s', hibernate: '1s', stop: '1s', archive: '1s' },
};
const agent = {
  id: 'a',
  model: 'openai/x',
  instructions: 'Hi',
  plugins: ['x'],
  mcp: { m: { url: 'http://x' } },
  tools: ['shell:*'],
  sandbox,
  approval: [{ tool: 'x', decide: 'allow' }],
  requireApproval: { x: true },
  approvalTimeout: '1h',
  deferTools: { over: 1, pin: ['x'] },
  budget: { turns: 1, steps: 1, tokens: 1, wallTime: '1h', storageMb: 1, costUsd: 1 },
  modelOptions: { temperature: 1 },
  output: { type: 'object' },
  judge: { model: 'openai/x', modelOptions: { temperature: 1 }, rules: ['x'], minConfidence: 0.5, handovers: 1 },
};
const { template: _template, onClose: _onClose, assets: _assets, ...ofTemplate } = sandbox;
const template = {
  ...ofTemplate,
  name: 't',
  packages: ['curl'],
  users: ['bob'],
  workDirectory: '/home/user/x',
  setup: ['true'],
  pool: 1,
  labels: { a: 'b' },
  metadata: { a: 1 },
};
const plugin = {
  id: 'p',
  version: '1',
  description: 'd',
  tools: [defined],
  brief: 'b',
  environment: [{ name: 'A', required: false }],
  dependencies: ['x'],
  configSchema: { type: 'object' },
};

const none = () => undefined;
const workerOptions = {
  config: {
    TEMPORAL_ADDRESS: 'a:1',
    TEMPORAL_NAMESPACE: 'n',
    LONGSHORE_TASK_QUEUE: 'q',
    LONGSHORE_HOME: '/h',
    LONGSHORE_AGENTS: '/a',
    LONGSHORE_RETENTION_DAYS: 1,
  },
  store: {},
  sandboxes: { open: none, destroy: none, reap: none },
  registry: { get: none, forAgent: none },
  agents: new Map(),
  models: { get: none },
  services: {},
  log: { info: none, warn: none, error: none },
};

/** Of a database that is nowhere. */
const where = { databaseUrl: 'postgres://longshore@127.0.0.1:1/none', tenantId: 't', backend: 'docker' };
/** What is right ends at that database. Without options it would be the one of the environment. */
const unconnected =
  (name: 'list' | 'snapshots' | 'restore' | 'removeSnapshot'): AnyFunction =>
  async (...given) => {
    if ([undefined, HOSTILE['object']].includes(given.at(-1))) return;
    const call = sandboxes[name].bind(sandboxes) as AnyFunction;
    await Promise.resolve(call(...given)).catch((error: unknown) => {
      if (!isFailure(error, 'POSTGRES_UNAVAILABLE')) throw error;
    });
  };

/** The exported functions with arguments that are right; those that are made of parts are told apart by their fields too. */
const FUNCTIONS: [name: string, call: AnyFunction, given: unknown[]][] = [
  ['defineAgent', defineAgent as AnyFunction, [agent, { directory: '/x' }]],
  ['defineAgent of a sandbox', ((given: object) => defineAgent({ ...agent, sandbox: given } as never)) as AnyFunction, [sandbox]],
  ['defineAgent of a budget', ((given: object) => defineAgent({ ...agent, budget: given } as never)) as AnyFunction, [agent.budget]],
  ['defineTemplate', defineTemplate as AnyFunction, [template, { directory: '/x' }]],
  [
    'defineTool',
    defineTool as AnyFunction,
    [
      {
        ...tool,
        kind: 'tool',
        annotations: { title: 't' },
        timeoutMs: 5,
        isolation: 'host',
        permissions: { time: true },
        resultSchema: { type: 'object' },
        visibility: 'visible',
        brief: 'b',
        requireApproval: true,
        summarize: () => 's',
      },
    ],
  ],
  ['definePlugin', definePlugin as AnyFunction, [plugin]],
  ['createWorker', checkWorkerOptions as AnyFunction, [workerOptions]],
  ['createWorker of a config', ((given: object) => checkWorkerOptions({ ...workerOptions, config: given } as never)) as AnyFunction, [workerOptions.config]],
  ['registerSandboxBackend', registerSandboxBackend as AnyFunction, ['docker', createDockerSandboxes]],
  ['sandboxes.get', (...given: unknown[]) => sandboxes.get(...(given as [string])), ['sbx_1', where]],
  ['sandboxes.list', unconnected('list'), [{ ...where, tier: 'running', template: 't' }]],
  ['sandboxes.snapshots', unconnected('snapshots'), [{ ...where, sandboxId: 'sbx_1' }]],
  ['sandboxes.restore', unconnected('restore'), ['snap_1', { ...where, ttlMs: 5 }]],
  ['sandboxes.removeSnapshot', unconnected('removeSnapshot'), ['snap_1', where]],
  ['definePlugin of a tool', ((given: object) => definePlugin({ id: 'p', tools: [given] } as never)) as AnyFunction, [{ ...defined }]],
];

function variants(given: unknown[], value: unknown): [string, unknown[]][] {
  return given.flatMap((argument, index): [string, unknown[]][] => [
    [`argument ${index}`, given.with(index, value)],
    ...(typeof argument === 'object' && argument !== null && !Array.isArray(argument)
      ? Object.keys(argument).map((key): [string, unknown[]] => [`argument ${index}.${key}`, given.with(index, { ...argument, [key]: value })])
      : []),
  ]);
}

async function problemOf(call: () => unknown): Promise<string | undefined> {
  try {
    await call();
    return undefined;
  } catch (error) {
    if (!(error instanceof LongshoreError) || !(error.code in ERRORS) || error.code === 'INTERNAL')
      return error instanceof Error ? `${error.name}: ${error.message.slice(0, 200)}` : typeof error;
    return error.message.length < 2000 ? undefined : `a message of ${error.message.length} characters`;
  }
}

test.each(FUNCTIONS)(
  '%s takes or refuses every value with an error of the table',
  async (_name, call, given) => {
    await call(...given);
    const wrong: string[] = [];
    for (const [label, value] of Object.entries(HOSTILE)) {
      for (const [where, changed] of [...variants(given, value), ...(label === 'null' ? [['nothing', []] as [string, unknown[]]] : [])]) {
        const problem = await problemOf(() => call(...changed));
        if (problem !== undefined) wrong.push(`${where}, ${label}: ${problem}`);
      }
    }
    expect(wrong).toEqual([]);
  },
  60_000,
);

test.each<[name: string, call: () => unknown, message: string | RegExp]>([
  [
    'createWorker',
    () => createWorker({ ...workerOptions, agent: new Map() } as never),
    /^options of createWorker: "agent" is no option\. Use config, connection, store, /,
  ],
  ['createWorker', () => createWorker(undefined as never), 'options of createWorker: it is undefined. Give an object'],
  [
    'createWorker',
    () => createWorker({ ...workerOptions, agents: [] } as never),
    'options of createWorker.agents: it has to be an object with get, keys. Give a Map of agents by their ids',
  ],
  [
    'createWorker',
    () => createWorker({ ...workerOptions, config: { ...workerOptions.config, LONGSHORE_TASK_QUEUE: 'a\0' } } as never),
    'options of createWorker.config.LONGSHORE_TASK_QUEUE: "a\\u0000" has a NUL character at position 1. Write 1 to 2000 characters',
  ],
  ['openPlugin', () => openPlugin(7 as never), 'openPlugin.directory: it is 7. Give a text'],
  ['openPlugin', () => openPlugin('a\0'), 'openPlugin.directory: "a\\u0000" has a NUL character at position 1. Write 1 to 4000 characters'],
  ['openPlugin', () => openPlugin('.', { configs: {} } as never), 'options of openPlugin: "configs" is no option. Use id, config, env, context'],
  ['openPlugin', () => openPlugin('.', { env: { A: 1 } } as never), 'options of openPlugin.env.A: it is 1. Give a text'],
  ['openPlugin', () => openPlugin('.', { config: { a: Infinity } }), /^options of openPlugin\.config/],
  ['connect', () => connect({ taskqueue: 'q' } as never), /^options of connect: "taskqueue" is no option\. Use url, apiKey, temporalAddress, /],
  ['connect', () => connect({ databaseUrl: 'a\0' }), 'options of connect.databaseUrl: it has a line end or another control character. Leave that out'],
  [
    'definePlugin',
    () => definePlugin({ ...plugin, requireAproval: true } as never),
    'Plugin "p": it has the unknown option "requireAproval", which is probably "requireApproval". Correct its name',
  ],
  [
    'defineTool',
    () => defineTool({ ...tool, timeoutMS: 5 } as never),
    'Plugin (unknown): tool "t" has the unknown option "timeoutMS", which is probably "timeoutMs". Correct its name',
  ],
])('%s names what is wrong with its options', async (_, call, message) => {
  await expect((async () => call())()).rejects.toThrow(message);
});

test('fields of the author that have no name like an option are left alone', () => {
  class Own {
    id = 'p';
    tool = 1;
    descriptions = [];
    tools = [];
  }
  expect(definePlugin({ ...plugin, author: 'me', notes: 1, tags: [] } as never).id).toBe('p');
  expect(definePlugin(new Own() as never).id).toBe('p');
});

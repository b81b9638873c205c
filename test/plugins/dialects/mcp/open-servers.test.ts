import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadAgents } from '../../../../src/definitions/agents/load-agents.ts';
import type { McpServer } from '../../../../src/contracts/mcp/server.ts';
import { createLogger } from '../../../../src/platform/log.ts';
import { definePlugin, type Plugin } from '../../../../src/plugins/api/define-plugin.ts';
import { createRegistry } from '../../../../src/plugins/registry/registry.ts';
import { openMcpServers } from '../../../../src/plugins/dialects/mcp/open-servers.ts';
import { echoTool } from '../../tools.ts';
import { fixtureProgram, NO_LISTS, NO_SIGN_INS } from './support.ts';

const log = createLogger({ LONGSHORE_LOG_LEVEL: 'silent' });
const gone: McpServer = { url: 'http://127.0.0.1:1/mcp', headers: {}, timeoutMs: 1_000 };

function open(agents: Record<string, Record<string, McpServer>>, hostPlugins: string[] = [], signIns = NO_SIGN_INS) {
  const list = Object.entries(agents).map(([id, mcp]) => ({ id, mcp, sandbox: { image: id } }));
  const listInSandbox = () => Promise.reject(new Error('no sandbox is needed'));
  return openMcpServers({
    agents: list,
    taken: ['shell'],
    hostPlugins,
    readEnvironment: () => undefined,
    listInSandbox,
    store: NO_LISTS,
    isEnabled: () => true,
    signIns,
    log,
  });
}

test('a program runs beside the worker only where the operator allows it', async () => {
  await using servers = await open({ one: { fix: await fixtureProgram() } });
  expect(servers.plugins).toEqual([]);
  expect(servers.problems.map(({ error }) => error.message)).toEqual([
    "Plugin mcp:fix: the operator has not allowed it to run on the worker's machine. Add mcp:fix to LONGSHORE_HOST_PLUGINS",
  ]);
});

test('agents share a server that they describe in the same way; another one of its name, or of that of a plugin, is a collision', async () => {
  await using servers = await open({ one: { a: gone }, two: { a: { ...gone } }, three: { a: { ...gone, timeoutMs: 5 }, shell: gone } });
  expect(servers.plugins.map(({ id }) => id)).toEqual(['a']);
  expect(servers.problems.map(({ error }) => error.message)).toEqual([
    'Two plugins provide "a": agent one and the MCP server of agent three. Rename one.',
    'Two plugins provide "shell": a plugin and the MCP server of agent three. Rename one.',
  ]);
});

test('an agent may name tools of a server that does not run yet, and has them when they come', async () => {
  const made = (tools: Plugin['tools']) => definePlugin({ id: 'a', dialect: 'mcp', tools });
  const agent = { id: 'one', plugins: [], mcp: { a: gone }, tools: ['a:*'] };
  expect(createRegistry([made([])]).forAgent(agent)).toEqual([]);
  expect(
    createRegistry([made([echoTool('echo')])])
      .forAgent(agent)
      .map(({ id }) => id),
  ).toEqual(['a:echo']);
});

test('an agent keeps no secret of a server: what is to be filled in stays as it was written; a directory of the sandbox stays as well', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'longshore-mcp-'));
  try {
    const server = 'a: { url: "https://a.example/mcp", headers: { authorization: "Bearer ${env.NOT_SET_ANYWHERE}" } }';
    const program = 'b: { command: b, where: host, directory: ./srv, timeout: 5m }';
    const guest = 'c: { command: c, where: sandbox, directory: srv, timeouts: { import all: 10m } }';
    await writeFile(join(directory, 'one.yaml'), `model: openai/x\nmcp:\n  ${server}\n  ${program}\n  ${guest}\n`);
    expect((await loadAgents(directory)).get('one')?.mcp).toEqual({
      a: { url: 'https://a.example/mcp', headers: { authorization: 'Bearer ${env.NOT_SET_ANYWHERE}' }, timeoutMs: 120_000 },
      b: { command: 'b', args: [], env: {}, where: 'host', directory: join(directory, 'srv'), timeoutMs: 300_000 },
      c: { command: 'c', args: [], env: {}, where: 'sandbox', directory: 'srv', timeoutMs: 120_000, toolTimeoutsMs: { 'import all': 600_000 } },
    });
    await writeFile(join(directory, 'one.yaml'), 'model: openai/x\nmcp:\n  Bad_Name: { url: "https://a.example" }\n');
    await expect(loadAgents(directory)).rejects.toThrow(/^one\.yaml:3: mcp\.Bad_Name: /);
  } finally {
    await rm(directory, { recursive: true });
  }
});

test.each([
  [
    { encrypts: false, publicUrl: 'https://longshore.example' },
    'Plugin mcp:desk: users sign in at it, and what that gives is stored encrypted or not at all. Set LONGSHORE_ENCRYPTION_KEYS for all workers and services',
  ],
  [
    { encrypts: true, publicUrl: undefined },
    'Plugin mcp:desk: users sign in at it, and it is not known where the HTTP service takes them back over https. Set LONGSHORE_PUBLIC_URL for all workers and services',
  ],
  [
    { encrypts: true, publicUrl: 'http://longshore.example' },
    'Plugin mcp:desk: users sign in at it, and it is not known where the HTTP service takes them back over https. Set LONGSHORE_PUBLIC_URL for all workers and services',
  ],
])('nobody can sign in at a server where %j', async (more, message) => {
  await using servers = await open({ one: { desk: { ...gone, oauth: { as: 'user' } } } }, [], { ...NO_SIGN_INS, ...more });
  expect(servers.plugins).toEqual([]);
  expect(servers.problems.map(({ error }) => error.message)).toEqual([message]);
});

import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { McpGuest } from '../../../../src/contracts/mcp/server.ts';
import { createLogger } from '../../../../src/platform/log.ts';
import { createLister, type ListInSandbox } from '../../../../src/plugins/dialects/mcp/list-in-sandbox.ts';
import { openMcpServers } from '../../../../src/plugins/dialects/mcp/open-servers.ts';
import { NO_LISTS, NO_SIGN_INS } from './support.ts';
import type { SandboxServer, ServerAnswer, ServerRequest } from '../../../../src/sandbox/api/host-methods.ts';
import type { SandboxHandle } from '../../../../src/sandbox/api/sandbox.ts';

const log = createLogger({ LONGSHORE_LOG_LEVEL: 'silent' });
const program: McpGuest = {
  command: 'node',
  args: ['server.js'],
  env: { TOKEN: '${env.TOKEN}' },
  where: 'sandbox',
  timeoutMs: 1_000,
  toolTimeoutsMs: { slow: 90_000 },
};
const TOOLS = ['quick', 'slow'].map((name) => ({ name, inputSchema: { type: 'object' } }));

function open(listInSandbox: ListInSandbox) {
  const agents = [{ id: 'one', mcp: { box: program }, sandbox: { image: 'boxed' } }];
  const readEnvironment = (name: string) => (name === 'TOKEN' ? 't0p' : undefined);
  return openMcpServers({
    agents,
    taken: [],
    hostPlugins: [],
    readEnvironment,
    listInSandbox,
    store: NO_LISTS,
    isEnabled: () => true,
    signIns: NO_SIGN_INS,
    log,
  });
}

test('a server in the sandbox needs no word of the operator, has its tools by asking it in a sandbox like that of its agent, and each its time limit', async () => {
  const asked: unknown[] = [];
  await using servers = await open(async (server, options) => {
    asked.push(server, options);
    return { version: '3', tools: TOOLS };
  });
  expect(servers.problems).toEqual([]);
  expect(servers.plugins[0]?.tools).toMatchObject([
    { id: 'quick', isolation: 'container', timeoutMs: 1_000 },
    { id: 'slow', isolation: 'container', timeoutMs: 90_000 },
  ]);
  expect(asked).toEqual([{ name: 'box', command: 'node', args: ['server.js'], env: { TOKEN: 't0p' } }, { image: 'boxed' }]);
});

test('a server whose tools cannot be listed is a problem until they can', async () => {
  let attempts = 0;
  await using servers = await open(async () => {
    attempts += 1;
    if (attempts === 1) throw new Error('no such image');
    return { version: '3', tools: TOOLS };
  });
  expect(servers.plugins[0]?.problem).toBe('Its tools cannot be listed: no such image; it is tried again');
  const listed = await new Promise((resolve) => servers.follow((plugin) => plugin.tools.length > 0 && resolve(plugin)));
  expect(listed).not.toHaveProperty('problem');
});

describe('listing in a sandbox', () => {
  let directory: string;
  let asset: string;
  let opened: string[];
  let destroyed: string[];
  let answer: (request: ServerRequest) => ServerAnswer;
  const server: SandboxServer = { name: 'box', command: 'node', args: [], env: { TOKEN: 'one' } };
  const list = (given = server) => {
    const handle = {
      callServer: async (_server: SandboxServer, request: ServerRequest) => answer(request),
      forget: async () => undefined,
    } as unknown as SandboxHandle;
    const lister = createLister({
      directory: join(directory, 'kept'),
      standard: { image: 'standard' },
      sandboxes: {
        async open({ sandboxId }) {
          opened.push(sandboxId);
          return { handle: { ...handle, readFile: async () => Buffer.from(''), uploadFile: async () => undefined, writeFile: async () => undefined } as never };
        },
        async destroy(sandboxId) {
          destroyed.push(sandboxId);
        },
      },
    });
    return lister(given, { assets: [{ from: asset, to: '/home/user/asset' }], persist: false });
  };
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'longshore-lister-'));
    asset = join(directory, 'asset');
    await writeFile(asset, 'one');
    [opened, destroyed] = [[], []];
    answer = ({ params }) => ({
      outcome: 'answered',
      result: params['cursor'] === undefined ? { tools: TOOLS.slice(0, 1), nextCursor: 'two' } : { tools: TOOLS.slice(1) },
      server: { name: 's', version: '3' },
    });
  });
  afterEach(() => rm(directory, { recursive: true }));

  test('asks for all pages, removes the sandbox, and asks the same program with the same assets never again', async () => {
    expect(await list()).toEqual({ version: '3', tools: TOOLS });
    expect(destroyed).toEqual(opened);
    expect(await list({ ...server, env: { TOKEN: 'another' } })).toEqual({ version: '3', tools: TOOLS });
    expect(opened).toHaveLength(1);
    await writeFile(asset, 'changed');
    await list();
    await list({ ...server, args: ['--more'] });
    expect(opened).toHaveLength(3);
  });

  test('keeps no failure, and removes the sandbox then too', async () => {
    answer = () => ({ outcome: 'absent', why: 'no licence' });
    await expect(list()).rejects.toThrow('no licence');
    answer = () => ({ outcome: 'timeout' });
    await expect(list()).rejects.toThrow('it did not answer within 60 seconds');
    expect(destroyed).toEqual(opened);
    expect(await readdir(join(directory, 'kept'))).toEqual([]);
  });
});

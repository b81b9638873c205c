import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Chat } from '../../../src/client.ts';
import { runCommand } from '../../../src/platform/run-command.ts';
import { ownSandboxIdOf } from '../../../src/plugins/dialects/shared/python/own-sandboxes.ts';
import { runLine } from '../../cli/support.ts';
import { canInstall } from '../../support/python-packages.ts';
import { installAgents, resultsOf, until, type Installation, type WorkerProcess } from '../support.ts';
import { withinPlugin } from './within-plugin.ts';

const PLUGIN = fileURLToPath(new URL('../../fixtures/plugins/maibot-original', import.meta.url));
const ID = 'harbour.tides';
/** An address of this machine that a sandbox could only reach through its worker. */
const ADDRESS =
  Object.values(networkInterfaces()).flatMap((of) => (of ?? []).filter(({ family, internal }) => family === 'IPv4' && !internal))[0]?.address ?? '127.0.0.1';

const LIBRARIES = ['httpx', 'aiohttp', 'requests', 'urllib'];
const tides = LIBRARIES.map((library) => ({ call: `${ID}:tide`, with: { harbour: 'north', library } }));
const count = { call: `${ID}:count` };
const withSdk = (await canInstall('maibot-plugin-sdk')) ? describe : describe.skip;
const agent = (steps: object[]) => ({ plugins: [PLUGIN], tools: [`${ID}:*`], steps: steps as never[] });

let installation: Installation;
let worker: WorkerProcess;
let office: Server;
let asked: string[];
beforeAll(async () => {
  asked = [];
  office = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.end('high at noon');
  }).listen(0, ADDRESS);
  await once(office, 'listening');
  installation = await installAgents({
    sailor: agent([...tides, { say: 'Denied.' }, ...tides, { say: 'Granted.' }, ...tides, { say: 'Revoked.' }]),
    writer: agent([{ call: `${ID}:wait`, with: { line: 'a' } }, { say: 'Written.' }]),
    stopper: agent([{ call: `${ID}:wait`, with: { line: 'b' } }, { call: `${ID}:wait`, with: { line: 'c' } }, { say: 'Went on.' }]),
    counter: agent([count, count, { say: 'Counted.' }, { call: `${ID}:made`, with: { task: 'sail' } }, count, { say: 'Again.' }]),
    looker: agent([{ call: `${ID}:look` }, { call: `${ID}:paint` }, { say: 'Seen.' }]),
  });
  Object.assign(installation.environment, { HARBOUR_SECRET: 'sesame', LONGSHORE_EGRESS_ADDRESSES: ADDRESS });
});
afterAll(async () => {
  await installation?.[Symbol.asyncDispose]();
  office.close();
});

const within = (tenant: string, command: string) => withinPlugin(installation, ID, tenant, command);
const start = (name: string, tenant?: string) =>
  installation.longshore.start({ agent: name, user: 'user-1', message: 'Begin.', ...(tenant !== undefined && { tenant }) });
const line = async (...args: string[]) => expect(await runLine(installation.longshore, ['plugins', ...args])).toMatchObject({ code: 0 });
const last = async (chat: Chat) => (await resultsOf(chat)).at(-1);
const officeAt = () => `${ADDRESS}:${(office.address() as AddressInfo).port}`;

withSdk('a plugin that is written for MaiBot, in Python', () => {
  test('a call that is under way when its worker is killed takes effect once', async () => {
    worker = installation.startWorker();
    await worker.ready;
    expect((await installation.longshore.plugins.get(ID)).reports).toMatchObject([{ health: 'loaded' }]);
    const chat = await start('writer');
    await until(async () => (await within('default', 'cat data/log')) === 'begin a\n', 'the plugin has the call');
    await worker.kill();
    await within('default', 'touch data/go-on');
    worker = installation.startWorker();
    await worker.ready;
    expect(await chat.reply()).toBe('Written.');
    expect(await last(chat)).toMatchObject({ text: 'wrote a' });
    const sandboxId = ownSandboxIdOf(ID, 'default');
    const { environment } = installation;
    expect((await runLine(undefined, ['sandbox', 'ls'], { environment })).out).toContain(`${sandboxId} `);
    expect((await runLine(undefined, ['sandbox', 'logs', sandboxId], { environment })).out).toMatch(/^mcp-plugin-[0-9a-f]{16} +running/m);
    const logged = await within('default', 'cat /home/.longshore/execs/mcp-plugin-*/stderr');
    expect(logged).toContain('INFO plugin.harbour.tides: loaded with http://tides.test\na line that is not part of the protocol\n');
    expect(logged).toMatch(/SystemExit: broken\nINFO plugin\.harbour\.tides: begun\nINFO plugin\.harbour\.tides: started\n/);
    expect(await within('default', 'cat data/log')).toBe('begin a\nend a\n');
    await chat.close();
  }, 300_000);

  test('a call that is interrupted is cancelled in the plugin, which goes on with the next one', async () => {
    await within('default', 'rm data/go-on data/log');
    const chat = await start('stopper');
    const reply = expect(chat.reply()).rejects.toMatchObject({ code: 'TURN_FAILED', values: { outcome: 'interrupted' } });
    await until(async () => (await within('default', 'cat data/log')) === 'begin b\n', 'the plugin has the call');
    await chat.interrupt();
    await reply;
    expect(await last(chat)).toMatchObject({ isError: true, text: 'Interrupted on request.' });
    await within('default', 'touch data/go-on');
    await chat.send('Go on.');
    expect(await chat.reply()).toBe('Went on.');
    expect(await last(chat)).toMatchObject({ text: 'wrote c' });
    expect(await within('default', 'cat data/log')).toBe('begin b\nbegin c\nend c\n');
    await chat.close();
  }, 300_000);

  test('it reaches what operators grant, from the moment when they do until they take it back', async () => {
    await line('config', ID, '--set', `service.address=http://${officeAt()}`);
    await until(async () => (await installation.longshore.plugins.get(ID)).reports[0]?.configVersion === 1, 'the worker has the address');
    const chat = await start('sailor');
    expect(await chat.reply()).toBe('Denied.');
    const newest = async () => (await resultsOf(chat)).slice(-LIBRARIES.length);
    const failed = LIBRARIES.map(() => expect.objectContaining({ isError: true }) as unknown);
    expect(await newest()).toEqual(failed);
    expect(asked).toEqual([]);
    await line('grant', ID, '--network', officeAt());
    const egress = async () => JSON.stringify((await installation.store.sandboxes.get(ownSandboxIdOf(ID, 'default')))?.options['egress']);
    await until(async () => (await egress()).includes(ADDRESS), 'the grant has come');
    await chat.send('Again.');
    expect(await chat.reply()).toBe('Granted.');
    expect(await newest()).toEqual(LIBRARIES.map(() => ({ success: true, content: 'North harbour: high at noon' })));
    expect(asked).toEqual(LIBRARIES.map(() => '/tides/north'));
    await line('revoke', ID);
    await until(async () => (await egress()) === '[]', 'the grant is gone');
    await chat.send('Again.');
    expect(await chat.reply()).toBe('Revoked.');
    expect(await newest()).toEqual(failed);
    expect(asked).toHaveLength(LIBRARIES.length);
    const sent = (await installation.store.events.read(chat.id, 0)).flatMap((event) => (event.type === 'message.sent' ? [event.data] : []));
    expect(sent).toMatchObject(
      Array.from({ length: 3 * LIBRARIES.length }, () => ({ tool: `${ID}:tide`, part: { type: 'text', text: 'Asking for north …' } })),
    );
    await chat.close();
  }, 300_000);

  test('its files last when its container has died, those of another tenant are others, and it sees nothing of the worker', async () => {
    const chat = await start('counter');
    expect(await chat.reply()).toBe('Counted.');
    expect(await last(chat)).toEqual({ total: 2, in_memory: 2 });
    const row = await installation.store.sandboxes.get(ownSandboxIdOf(ID, 'default'));
    await runCommand('docker', ['kill', row?.containerName ?? '']);
    await chat.send('Again.');
    expect(await chat.reply()).toBe('Again.');
    expect((await resultsOf(chat)).slice(-2)).toEqual([
      { made: 'made', task: 'sail', stream: true },
      { total: 3, in_memory: 1 },
    ]);
    await chat.close();

    const other = await start('looker', 'another');
    expect(await other.reply()).toBe('Seen.');
    const [seen, painted] = await resultsOf(other);
    expect(seen).toMatchObject({ data: [], user: 'user-1', platform: 'longshore', bot: 'nobody' });
    expect(seen?.['files']).toEqual(['.bash_logout', '.bashrc', '.longshore-plugin', '.profile', 'data', 'runtime']);
    expect(seen?.['variables']).not.toContain('HARBOUR_SECRET');
    expect(seen?.['variables']).not.toContain('DATABASE_URL');
    expect(painted).toMatchObject({
      isError: true,
      text: expect.stringContaining(
        'render.html2png is not supported in Longshore: make an image with a package, such as pillow, and send it with ctx.send.image',
      ) as string,
    });
    const direct = `import socket\ntry: socket.create_connection(("${ADDRESS}", ${(office.address() as AddressInfo).port}), 5)\nexcept OSError as problem: print(problem.strerror)`;
    expect(await within('another', `python3 -c '${direct}'`)).toBe('Network is unreachable\n');
    await other.close();
  }, 300_000);

  test('plugins check says what it offers and what of it does not work here, before any agent has it', async () => {
    const { code, out } = await runLine(undefined, ['plugins', 'check', PLUGIN], { environment: installation.environment });
    expect(code).toBe(0);
    expect(out).toMatch(/^harbour\.tides 1\.3\.0\+[0-9a-f]{16} \(maibot\), 15 tools\npermissions: none\nconfiguration: \{/);
    expect(out).toContain('\nharbour.tides:tide (tool, visible, own)\n  The tide of a harbour\n');
    expect(out).toContain('\n  {"type":"object","properties":{"line":{"type":"string","description":"The line"}},"required":["line"]}\n');
    expect(out).toContain('\nharbour.tides:command.tide (tool, hidden, own)\n');
    expect(out).toContain(
      'warning: Its handler event.message of on_plan is not run: use the hook maisaka.planner.before_request, which is called before each request to the model\n',
    );
    expect(out).toContain('warning: Its command odd is not run, because its pattern cannot be used for messages: "^(a)?(?(1)b|c)$"\n');
    expect(out).toContain(
      'warning: It uses render.html2png, which is refused when it is called: make an image with a package, such as pillow, and send it with ctx.send.image\n',
    );
    expect(out).toMatch(/digest: sha256:[0-9a-f]{64}\n/);
  }, 120_000);

  test('plugins add copies one, and pins it without a network', async () => {
    const home = await mkdtemp(join(tmpdir(), 'longshore-add-maibot-'));
    try {
      await mkdir(join(home, 'agents'));
      await writeFile(join(home, 'agents/sailor.yaml'), 'model: scripted/none.yaml\n');
      const environment = { ...installation.environment, LONGSHORE_AGENTS: join(home, 'agents') };
      const { code, out, err } = await runLine(undefined, ['plugins', 'add', PLUGIN, '--agent', 'sailor', '--yes'], { environment });
      expect([code, err]).toEqual([0, '']);
      expect(out).toMatch(/\npackages: aiohttp, .*maibot-plugin-sdk>=2\.0\.0/);
      expect(out).toMatch(
        /\nAdded harbour\.tides 1\.3\.0\+[0-9a-f]{16}\.\nIt reaches those hosts that its entry names: {2}permissions: \{ network: \[ … \] \}\n/,
      );
      expect(await readFile(join(home, 'agents/sailor.yaml'), 'utf8')).toMatch(
        /^model: scripted\/none\.yaml\nplugins:\n {2}- \{ path: \.\.\/plugins\/harbour\.tides, source: \S+, digest: sha256:[0-9a-f]{64}, permissions: \{\} \}\n$/,
      );
      expect(await readdir(join(home, 'plugins'))).toEqual(['harbour.tides']);
    } finally {
      await rm(home, { recursive: true });
    }
  }, 120_000);

  test('without a package index, the error says what the worker needs', async () => {
    const home = await mkdtemp(join(tmpdir(), 'longshore-no-index-'));
    const before = process.env['PIP_FIND_LINKS'];
    Object.assign(process.env, { PIP_NO_INDEX: '1', PIP_FIND_LINKS: home });
    try {
      const { code, err } = await runLine(undefined, ['plugins', 'check', PLUGIN], { environment: { ...installation.environment, LONGSHORE_HOME: home } });
      expect(code).toBe(2);
      expect(err).toContain(
        'its packages (aiohttp, httpx>=0.27, maibot-plugin-sdk>=2.0.0,<=2.99.99, requests) ' +
          'cannot be installed on the worker: Could not find a version that satisfies the requirement aiohttp (from versions: none); ' +
          'No matching distribution found for aiohttp. ' +
          'The worker needs python3 with pip, and a package index or a directory of wheels that pip is configured for (PIP_INDEX_URL, or PIP_NO_INDEX=1 and PIP_FIND_LINKS)',
      );
    } finally {
      delete process.env['PIP_NO_INDEX'];
      if (before === undefined) delete process.env['PIP_FIND_LINKS'];
      else process.env['PIP_FIND_LINKS'] = before;
      await rm(home, { recursive: true });
    }
  }, 120_000);
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Connection } from '@temporalio/client';
import { Client } from 'pg';
import { startTemporaryStack } from '../../scripts/temporary-stack.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { startDevStack } from '../../src/setup/dev-stack.ts';
import { isAlive, nameProcess } from '../../src/platform/process-identity.ts';
import { freePort, isListening } from '../../src/setup/ports.ts';
import { startPostgres } from '../../src/setup/postgres.ts';
import { runCommand } from '../../src/platform/run-command.ts';
import { missingAttributes } from '../../src/contracts/search-attributes.ts';
import { registerSearchAttributes } from '../../src/setup/search-attributes.ts';
import { startServerProcess } from '../../src/setup/server-process.ts';
import { ensureTemporalCli } from '../../src/setup/temporal-cli.ts';
import { builtModule, builtProgram } from '../support/built-programs.ts';
import { createTestDatabase } from '../support/databases.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longshore-servers-'));
  await chmod(directory, 0o755);
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const server = async (name: string, script: string) => {
  const port = await freePort();
  return {
    name,
    program: process.execPath,
    args: ['-e', script, String(port)],
    stateFile: join(directory, `${name}.json`),
    logFile: join(directory, `${name}.log`),
    port,
    facts: { port },
    isReady: (facts: { port: number }) => isListening(facts.port),
    readyTimeoutMs: 30_000,
    stopSignal: 'SIGTERM' as const,
  };
};
const LISTEN = 'require("net").createServer().listen(Number(process.argv[1]), "127.0.0.1")';

test('dev starts its servers on the ports it is told, whatever the environment names', async () => {
  const home = join(directory, 'home');
  const config = { ...loadConfig(), LONGSHORE_HOME: home, LONGSHORE_SANDBOX_BACKEND: 'local' };
  // Programs that are fetched or built once are in the cache of this machine.
  await mkdir(join(home, 'bin'), { recursive: true });
  await symlink(await ensureTemporalCli({ home: loadConfig().LONGSHORE_HOME, log: () => undefined }), join(home, 'bin/temporal'));
  const ports = { temporal: await freePort(), postgres: await freePort() };
  {
    await using stack = await startDevStack({ config, log: () => undefined, ports, signal: new AbortController().signal });
    expect(stack.config).toMatchObject({
      TEMPORAL_ADDRESS: `127.0.0.1:${ports.temporal}`,
      DATABASE_URL: expect.stringContaining(`@127.0.0.1:${ports.postgres}/`) as string,
    });
    expect(stack.uiUrl).toBe(`http://127.0.0.1:${ports.temporal + 1000}`);
    expect([await isListening(ports.temporal), await isListening(ports.postgres)]).toEqual([true, true]);
  }
  expect([await isListening(ports.temporal), await isListening(ports.postgres)]).toEqual([false, false]);
}, 120_000);

test('what a script starts for itself keeps its data in one temporary directory, which goes with it', async () => {
  let data = '';
  {
    // An empty one names no server.
    await using stack = await startTemporaryStack('stack', { DATABASE_URL: '' }, () => undefined);
    const client = new Client(stack.config.DATABASE_URL);
    await client.connect();
    const { rows } = await client.query<{ data_directory: string }>('show data_directory');
    await client.end();
    data = rows[0]?.data_directory ?? '';
    expect(dirname(dirname(data))).toBe(await realpath(tmpdir()));
  }
  expect(existsSync(dirname(data))).toBe(false);
});

describe('what a script has started for itself ends with it', () => {
  const SCRIPT = new URL('temporary-stack-script.ts', import.meta.url);

  test.each(['SIGINT', 'SIGTERM', 'SIGHUP', 'throw', 'throw later', 'reject'])('however it ends: %s', async (how) => {
    const temporary = await mkdtemp(join(directory, 'script-'));
    await chmod(temporary, 0o755);
    const script = spawn(process.execPath, [await builtProgram(SCRIPT), how], {
      env: { ...process.env, TMPDIR: temporary },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    script.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
    const ended = once(script, 'exit');
    const [url] = (await once(script.stdout, 'data')) as [Buffer];
    if (how.startsWith('SIG')) script.kill(how as NodeJS.Signals);
    expect((await ended)[0]).toBe(how.startsWith('SIG') ? 130 : 1);
    if (!how.startsWith('SIG')) expect(said).toContain('the script has a fault');
    expect(await isListening(Number(new URL(String(url)).port))).toBe(false);
    expect(await readdir(temporary)).toEqual([]);
  });
});

describe('a server of the development stack', () => {
  test('a second start from the same state shares the first, and only the first stops it', async () => {
    const first = await startServerProcess(await server('shared', LISTEN));
    const second = await startServerProcess(await server('shared', LISTEN));
    expect(second).toMatchObject({ pid: first.pid, facts: first.facts, shared: true });
    await second.stop();
    expect(isAlive(first.pid)).toBe(true);
    await first.stop();
    expect(isAlive(first.pid)).toBe(false);
  });

  test('starts from the same state at the same time share one server, which is known until its own start stops it', async () => {
    const options = await server('at-once', LISTEN);
    const all = await Promise.all(Array.from({ length: 4 }, () => startServerProcess(options)));
    const own = all.filter(({ shared }) => !shared);
    expect(own).toHaveLength(1);
    expect(new Set(all.map(({ pid }) => pid)).size).toBe(1);
    for (const other of all) if (other.shared) await other.stop();
    expect([isAlive(own[0]!.pid), existsSync(options.stateFile)]).toEqual([true, true]);
    await own[0]!.stop();
    expect([isAlive(own[0]!.pid), existsSync(options.stateFile)]).toEqual([false, false]);
  });

  // Their start is known from /proc.
  const testWithProc = existsSync('/proc/self/stat') ? test : test.skip;
  const nameOfEarlier = async (pid: number) => (await nameProcess(pid)).replace(/-\d+-/, '-1-');

  testWithProc('another process that has the id of a server that was left is not ended', async () => {
    const options = await server('left-id', LISTEN);
    const other = spawn('sleep', ['1000']);
    const ended = once(other, 'exit');
    const pid = other.pid!;
    const earlier = await nameOfEarlier(pid);
    await writeFile(options.stateFile, JSON.stringify({ pid, ownerPid: pid, server: earlier, owner: earlier, facts: options.facts }));
    const started = await startServerProcess(options);
    expect({ shared: started.shared, other: isAlive(pid) }).toEqual({ shared: false, other: true });
    await started.stop();
    other.kill();
    await ended;
  });

  testWithProc('a server is ended when another process has the id of its owner', async () => {
    const options = await server('left-owner', LISTEN);
    const first = await startServerProcess(options);
    const state = JSON.parse(await readFile(options.stateFile, 'utf8')) as object;
    await writeFile(options.stateFile, JSON.stringify({ ...state, owner: await nameOfEarlier(process.pid) }));
    const second = await startServerProcess(options);
    expect({ shared: second.shared, first: isAlive(first.pid) }).toEqual({ shared: false, first: false });
    await second.stop();
  });

  test('a state file of a version before has only the ids', async () => {
    const options = await server('ids', LISTEN);
    const first = await startServerProcess(options);
    const { pid, ownerPid, facts } = JSON.parse(await readFile(options.stateFile, 'utf8')) as Record<string, unknown>;
    await writeFile(options.stateFile, JSON.stringify({ pid, ownerPid, facts }));
    expect(await startServerProcess(options)).toMatchObject({ pid: first.pid, shared: true });
    await first.stop();
  });

  test('is in the state file before it begins, so that a start that is killed leaves none that the next one does not know', async () => {
    for (let round = 0; round < 10; round += 1) {
      const options = await server('noted', LISTEN);
      const words = ['-c', '[ -s "$0" ] || exit 3; exec "$@"', options.stateFile, options.program, ...options.args];
      const { stop } = await startServerProcess({ ...options, program: '/bin/sh', args: words });
      await stop();
    }
  });

  test('one that ends at once says why', async () => {
    const failing = startServerProcess(await server('failing', 'console.error("no such database"); process.exit(1)'));
    await expect(failing).rejects.toMatchObject({ code: 'SETUP_FAILED', message: expect.stringContaining('no such database') as string });
  });

  test('a port that is taken is an error before anything is started', async () => {
    const options = await server('taken', LISTEN);
    const running = await startServerProcess(options);
    const other = { ...options, stateFile: join(directory, 'other.json') };
    await expect(startServerProcess(other)).rejects.toMatchObject({
      message: expect.stringMatching(/is taken by another program\. .* --temporal-port, --postgres-port$/) as string,
    });
    await running.stop();
  });
});

test('Postgres keeps its data directory over a restart', async () => {
  const dataDir = join(directory, 'postgres');
  for (const turn of [1, 2]) {
    const postgres = await startPostgres({ dataDir, port: await freePort(), home: loadConfig().LONGSHORE_HOME, log: () => {}, durable: false });
    expect({ turn, shared: postgres.shared }).toEqual({ turn, shared: false });
    await postgres.stop();
    expect(await isListening(Number(new URL(postgres.url).port))).toBe(false);
  }
});

test('a first start that is killed while it makes the data leaves nothing that a later start would take for data', async () => {
  const dataDir = join(directory, 'killed');
  const options = { dataDir, port: await freePort(), home: loadConfig().LONGSHORE_HOME, durable: false };
  const program = `
    import { startPostgres } from '${await builtModule('setup/postgres.ts')}';
    await startPostgres({ ...${JSON.stringify(options)}, log: () => {} });`;
  const first = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: 'ignore' });
  const unfinished = join(directory, `killed.${await nameProcess(first.pid!)}.unfinished`);
  while (!existsSync(join(unfinished, 'PG_VERSION'))) await new Promise((resolve) => setImmediate(resolve));
  first.kill('SIGKILL');
  await once(first, 'exit');
  expect(existsSync(dataDir)).toBe(false);
  const postgres = await startPostgres({ ...options, log: () => {} });
  const client = new Client(postgres.url);
  await client.connect();
  await client.end();
  await postgres.stop();
  expect((await readdir(directory)).filter((name) => name.startsWith('killed.')).toSorted()).toEqual(['killed.log']);
});

test('Postgres runs as the owner of its data, whatever users have come or gone since', async () => {
  if (process.getuid?.() !== 0) return;
  const dataDir = join(directory, 'owned');
  const start = async () => startPostgres({ dataDir, port: await freePort(), home: loadConfig().LONGSHORE_HOME, log: () => {}, durable: false });
  await (await start()).stop();
  // A user that no file of users names: the one of the first start is gone.
  const { code } = await runCommand('chown', ['-R', '54321:54321', dataDir]);
  expect(code).toBe(0);
  const postgres = await start();
  expect((await stat(postgres.dataDir)).uid).toBe(54321);
  await postgres.stop();
});

test('a server ends with a process that ends without having stopped it', async () => {
  const port = await freePort();
  const stateFile = join(directory, 'left.json');
  const program = `
    import { startServerProcess } from '${await builtModule('setup/server-process.ts')}';
    import { isListening } from '${await builtModule('setup/ports.ts')}';
    const args = ['-e', ${JSON.stringify(LISTEN)}, '${port}'];
    await startServerProcess({ name: 'Left', program: process.execPath, args, stateFile: ${JSON.stringify(stateFile)}, logFile: ${JSON.stringify(`${stateFile}.log`)},
      port: ${port}, facts: {}, isReady: () => isListening(${port}), readyTimeoutMs: 30000, stopSignal: 'SIGTERM' });
    throw new Error('an engine that cannot be reached');`;
  const { code } = await runCommand(process.execPath, ['--input-type=module', '-e', program]);
  expect(code).toBe(1);
  const { pid } = JSON.parse(await readFile(stateFile, 'utf8')) as { pid: number };
  while (isAlive(pid)) await new Promise((resolve) => setImmediate(resolve));
  expect(await isListening(port)).toBe(false);
});

test('search attributes are registered once', async () => {
  const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace } = loadConfig();
  const connection = await Connection.connect({ address });
  expect(await registerSearchAttributes(connection, namespace)).toEqual([]);
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  expect(missingAttributes(customAttributes)).toEqual([]);
  await connection.close();
});

test('every test database is a new one', async () => {
  await using first = await createTestDatabase();
  await using second = await createTestDatabase();
  expect(first.url).not.toBe(second.url);
});

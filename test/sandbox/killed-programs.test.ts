import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '../../src/platform/log.ts';
import { openSandbox, sandboxes, type OpenSandboxOptions } from '../../src/sandbox.ts';
import { builtProgram } from '../support/built-programs.ts';
import { createTestDatabase, testInstallation, type TestDatabase } from '../support/databases.ts';
import { takeCensus, type Counted } from './census.ts';
import { describeWithGvisor } from './lifecycle/support.ts';

const PROGRAM = new URL('open-and-wait.ts', import.meta.url);
const log = createLogger({ LONGSHORE_LOG_LEVEL: 'error' });
const environment = { ...process.env };
let home: string;
let database: TestDatabase;
let counted: Counted;
let where: { databaseUrl: string; log: typeof log };
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'longshore-killed-'));
  const installation = testInstallation();
  Object.assign(process.env, { LONGSHORE_HOME: home, LONGSHORE_INSTALLATION: installation, LONGSHORE_HOST_ID: 'test-host' });
  database = await createTestDatabase();
  where = { databaseUrl: database.url, log };
  counted = { installation, databaseUrl: database.url, directories: [] };
});
afterAll(async () => {
  process.env = environment;
  await database[Symbol.asyncDispose]();
  await rm(home, { recursive: true, force: true });
});

/** The id of the sandbox that a program had open when it was killed. */
async function killedWith(options: OpenSandboxOptions): Promise<string> {
  const given = JSON.stringify({ databaseUrl: database.url, ...options });
  const program = spawn(process.execPath, [await builtProgram(PROGRAM), given], { env: process.env, stdio: ['ignore', 'pipe', 'inherit'] });
  const [told] = (await once(program.stdout, 'data')) as [Buffer];
  const ended = once(program, 'exit');
  program.kill('SIGKILL');
  await ended;
  return String(told).trim();
}

const onEngine = async () => (await takeCensus(counted)).filter((line) => /^(container|volume|network) /.test(line));

describe('what a program that was killed has left', () => {
  test('is removed by the next one that opens a sandbox, when its time is over', async () => {
    await killedWith({ ttlMs: 1 });
    expect(await onEngine()).toHaveLength(2);
    await (await openSandbox(where)).destroy();
    expect(await onEngine()).toEqual([]);
  });
});

describeWithGvisor('in gVisor', () => {
  test('the network holder goes with it, though the next program has no use for one', async () => {
    await killedWith({ ttlMs: 1, runtime: 'runsc' });
    expect(await onEngine()).toHaveLength(3);
    await (await openSandbox(where)).destroy();
    expect(await onEngine()).toEqual([]);
  });

  test('the network holder goes with the last sandbox also where that is destroyed by its id', async () => {
    const id = await killedWith({ ttlMs: 600_000, runtime: 'runsc' });
    await sandboxes.get(id, where).destroy();
    expect(await onEngine()).toEqual([]);
  });
});

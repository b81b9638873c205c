import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { loadConfig } from '../../src/platform/config.ts';
import { isAlive } from '../../src/platform/process-identity.ts';
import { installPinnedPackages } from '../../src/setup/pinned-packages.ts';
import { freePort, isListening } from '../../src/setup/ports.ts';
import { placeForData, serverUser } from '../../src/setup/postgres-files.ts';
import { builtCommandLine, builtProgram } from '../support/built-programs.ts';

/** Writes its process down and hangs, where it is told to: when it is asked for its version, which stands for its build, or as a server. */
const TEMPORAL = `#!/bin/sh
note() { echo "$1" > "$PLACE/hanging.new" && mv "$PLACE/hanging.new" "$PLACE/hanging"; }
if [ "$1" != --version ]; then note $$; exec sleep 600; fi
[ "$HANGS" = build ] || exit 0
sleep 600 &
note $!
wait
`;

let directory: string;
let home: string;
/** Root's data are in a public place. */
let data: string;
const children = new Set<ChildProcess>();
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longshore-dev-'));
  await chmod(directory, 0o755);
  home = join(directory, 'home');
  await mkdir(join(home, 'dev'), { recursive: true, mode: 0o700 });
  data = await placeForData(join(home, 'dev/postgres'), await serverUser());
  // Packages that were fetched once are in the cache of this machine, which root keeps below a private directory.
  const { LONGSHORE_HOME } = loadConfig();
  await installPinnedPackages({ name: 'postgres', home: LONGSHORE_HOME, log: () => undefined, fix: '' });
  await symlink(join(LONGSHORE_HOME, 'packages'), join(home, 'packages'));
  await writeFile(join(directory, 'temporal'), TEMPORAL, { mode: 0o755 });
});
afterAll(async () => {
  for (const path of [directory, data, `${data}.log`, `${data}.process.json`]) await rm(path, { recursive: true, force: true });
});
beforeEach(() => rm(join(directory, 'hanging'), { force: true }));
// One that a failing test has left; its servers are ended with it.
afterEach(async () => {
  for (const child of children) {
    child.kill('SIGTERM');
    await once(child, 'close');
  }
});

function start(args: string[], hangs: 'build' | 'server') {
  const env = {
    ...process.env,
    PATH: `${directory}:${process.env['PATH']}`,
    PLACE: directory,
    HANGS: hangs,
    LONGSHORE_HOME: home,
    LONGSHORE_SANDBOX_BACKEND: 'local',
    TEMPORAL_ADDRESS: '',
    DATABASE_URL: '',
  };
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  children.add(child);
  child.once('close', () => children.delete(child));
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (chunk: string) => (said += chunk));
  const ended = once(child, 'close').then(([code]: unknown[]) => ({ code, said }));
  let over = false;
  void ended.then(() => (over = true));
  return {
    child,
    ended,
    async until(condition: () => Promise<boolean>) {
      while (!(await condition())) {
        if (over) throw new Error(`it has ended: ${said}`);
        await turn();
      }
    },
  };
}
const hangingPid = async () => Number(await readFile(join(directory, 'hanging'), 'utf8'));
const isHanging = async () => existsSync(join(directory, 'hanging'));
const untilGone = async (pid: number) => {
  while (isAlive(pid)) await turn();
};

describe('a start that is interrupted', () => {
  test.each([
    ['SIGINT', 'server'],
    ['SIGTERM', 'build'],
    ['SIGHUP', 'server'],
  ] as const)(
    'ends Postgres, which is up, and what it has begun of Temporal: %s, %s',
    async (signal, hangs) => {
      const [temporal, postgres] = [await freePort(), await freePort()];
      const dev = start([await builtCommandLine(), 'dev', '--temporal-port', String(temporal), '--postgres-port', String(postgres)], hangs);
      await dev.until(async () => (await isHanging()) && (await isListening(postgres)));
      const { pid } = JSON.parse(await readFile(`${data}.process.json`, 'utf8')) as { pid: number };
      expect(isAlive(pid)).toBe(true);
      dev.child.kill(signal);
      expect(await dev.ended).toEqual({ code: 130, said: expect.stringContaining('Interrupted; what was started has ended.') as string });
      expect([isAlive(pid), await isListening(postgres)]).toEqual([false, false]);
      await untilGone(await hangingPid());
    },
    300_000,
  );

  test('by npm run setup ends the programs that it has started', async () => {
    const setup = start([await builtProgram(new URL('../../scripts/setup.ts', import.meta.url)), '--quiet'], 'build');
    await setup.until(isHanging);
    setup.child.kill('SIGTERM');
    expect(await setup.ended).toMatchObject({ code: 130, said: expect.stringContaining('setup: interrupted') as string });
    await untilGone(await hangingPid());
  }, 300_000);
});

test('what fails at once is told at once, and ends the rest', async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  const { port } = taken.address() as { port: number };
  // Temporal would hang for ten minutes.
  const dev = start([await builtCommandLine(), 'dev', '--temporal-port', String(await freePort()), '--postgres-port', String(port)], 'build');
  const { code, said } = await dev.ended;
  taken.close();
  expect({ code, said }).toEqual({ code: 1, said: expect.stringContaining(`port ${port} of 127.0.0.1 is taken by another program`) as string });
  if (await isHanging()) await untilGone(await hangingPid());
}, 300_000);

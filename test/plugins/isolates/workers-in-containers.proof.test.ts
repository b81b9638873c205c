import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Workers in containers that are restricted as those of docker-compose.yml, with the programs of this machine. */
const run = promisify(execFile);
const onLinux = process.platform === 'linux' && process.arch === 'x64' && process.getuid?.() === 0 ? test : test.skip;
const ROOT = join(import.meta.dirname, '../../..');
const NODE = '/usr/local/bin/node';
const IMAGE = process.env['LONGSHORE_TEST_IMAGE'] ?? 'longshore-sandbox:latest';
/** Of the services of docker-compose.yml. */
const RESTRICTED = ['--user=10001:10001', '--read-only', '--tmpfs=/tmp', '--cap-drop=ALL', '--security-opt=no-new-privileges:true', '--network=none'];

interface Said {
  stdout: string;
  stderr: string;
  code: number;
}

/** Runs a program of Node as such a worker would be run. */
async function inContainer(options: string[], program: string[]): Promise<Said> {
  const volumes = [`--volume=${process.execPath}:${NODE}:ro`, `--volume=${ROOT}:${ROOT}:ro`];
  const words = ['run', '--rm', ...RESTRICTED, ...volumes, ...options, `--workdir=${ROOT}`, `--entrypoint=${NODE}`, IMAGE, '--import', 'tsx', ...program];
  return run('docker', words, { timeout: 170_000 }).then(
    (done) => ({ ...done, code: 0 }),
    ({ stdout, stderr, code }: Said) => ({ stdout, stderr, code }),
  );
}

const longshore = (...words: string[]) => [join(ROOT, 'src/cli/main.ts'), ...words];

interface Line {
  name: string;
  ok: string;
  found: string;
  todo?: string;
}

async function fenceLine(options: string[]): Promise<Line | undefined> {
  const { stdout } = await inContainer(options, longshore('doctor', '--json'));
  return (JSON.parse(stdout) as Line[]).find(({ name }) => name === 'Plugin fence');
}

/** The engine's socket, as docker-compose.yml gives it. */
async function withEngine(): Promise<string[]> {
  const { gid } = await stat('/var/run/docker.sock');
  return [`--group-add=${gid}`, '--volume=/var/run/docker.sock:/var/run/docker.sock'];
}

const NOTHING_OF_THE_MACHINE =
  'no network, no files or sockets but its own, no other processes, a filter of system calls, no shared memory, limits of memory and files';

onLinux('a worker of docker-compose.yml has level A, by containers beside it, and its plugins run there', async () => {
  const engine = await withEngine();
  expect(await fenceLine(engine)).toEqual({
    name: 'Plugin fence',
    ok: 'ok',
    found: `level A (a container of its own, ${NOTHING_OF_THE_MACHINE}, a user of its own, control groups, Node's permission model)`,
  });
  const { stdout, code } = await inContainer(engine, longshore('plugins', 'check', './examples/plugins/weather'));
  expect([stdout, code]).toEqual([expect.stringContaining('weather 1.0.0 (longshore), '), 0]);
});

const WEAK = `level C (limits of memory and files, an end with its worker, Node's permission model; missing: files, sockets and processes of its own, no network, a user of its own)`;

onLinux('without the engine it has level C, which refuses plugins that the operator has not named and says what to do', async () => {
  const line = await fenceLine([]);
  expect(line).toMatchObject({ name: 'Plugin fence', ok: 'warning', found: WEAK });
  expect(line?.todo).toMatch(
    /^Third-party plugins are refused\. .*or name plugins that you trust in LONGSHORE_WEAKLY_FENCED_PLUGINS\. Why levels A and B are not possible here: namespaces: fence: leave the namespaces of the machine: Operation not permitted; a container beside the worker: the Docker engine cannot be used: connect ENOENT \/var\/run\/docker\.sock$/,
  );
  const check = longshore('plugins', 'check', './examples/plugins/weather');
  const refused = await inContainer(['--env=LONGSHORE_WEAKLY_FENCED_PLUGINS=./plugins/other'], check);
  expect(refused.code).not.toBe(0);
  expect(refused.stdout + refused.stderr).toContain(
    `Plugin "./examples/plugins/weather": it is refused at this level of the plugin fence: ${WEAK}. Code that breaks out of its compartment there can do what the worker can do, with its Docker engine too. Give the worker a better fence (longshore doctor says what prevents it); or, if you trust this plugin, set LONGSHORE_WEAKLY_FENCED_PLUGINS=./plugins/other,./examples/plugins/weather`,
  );
  const named = await inContainer(['--env=LONGSHORE_WEAKLY_FENCED_PLUGINS=./plugins/other,./examples/plugins/weather'], check);
  expect([named.stdout, named.code]).toEqual([expect.stringContaining('weather 1.0.0 (longshore), '), 0]);
});

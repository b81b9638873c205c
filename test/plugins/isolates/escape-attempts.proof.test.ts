import { existsSync } from 'node:fs';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, copyFile, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { probeFence, probeSiblings, type Fence } from '../../../src/plugins/isolates/fence/fence.ts';
import { PROBE } from '../../../src/plugins/isolates/fence/measure-fence.ts';
import { siblings } from '../../../src/plugins/isolates/fence/sibling.ts';
import { writeGuestScript, type GuestScript } from '../../../src/plugins/isolates/guest-script.ts';
import { startPluginProcess, type PluginProcess } from '../../../src/plugins/isolates/plugin-process.ts';
import { PluginContainers, type PluginContainerSpec } from '../../../src/sandbox/engine/docker/plugin-containers.ts';
import { until } from '../../e2e/support.ts';
import { builtModule } from '../../support/built-programs.ts';

/** What a plugin could do that runs any code as its process: programs that make system calls as they like, in place of Node, behind the same fence. */
const run = promisify(execFile);
const onLinux = process.platform === 'linux' && process.arch === 'x64' && process.getuid?.() === 0 ? test : test.skip;
const ATTACK = join(import.meta.dirname, '../../fixtures/fence/attack.pl');
const PERL = '/usr/bin/perl';
let directory: string;
let server: Server;
/** The worker's process, a secret file, a port that a server listens on, and the program that the fence is made for. */
let target: string;
let script: GuestScript;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longshore-escape-test-'));
  await chmod(directory, 0o755);
  await writeFile(join(directory, 'secret'), 'secret');
  server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  target = `${process.pid},${join(directory, 'secret')},${(server.address() as { port: number }).port},${process.execPath}`;
  script = await writeGuestScript();
});
const started: PluginProcess[] = [];
afterEach(async () => {
  for (const each of started) each.kill('the test is over');
  await Promise.all(started.splice(0).map(({ gone }) => gone));
});
afterAll(async () => {
  server.close();
  await rm(directory, { recursive: true });
});

/** What the attack could do. */
async function attack(words: string[]): Promise<{ could: string[]; user: number }> {
  const { stdout } = await run(words[0] as string, words.slice(1), { env: {}, cwd: '/' });
  return resultOf(stdout);
}

function resultOf(stdout: string) {
  const lines = stdout.trim().split('\n');
  return { could: lines.filter((line) => !line.startsWith('user ')), user: Number(lines.at(-1)?.replace('user ', '')) };
}

/** The fence's own way, with the attack in place of Node. */
function attackWords(fence: Fence): string[] {
  const words = fence.command(script.path);
  return [...words.slice(0, words.indexOf('--')), `--probe=${ATTACK}`, `--worker=${target}`];
}

onLinux('without a fence, the attack can do nearly all of it: it is a test of something', async () => {
  const { could } = await attack([PERL, '-e', `my $attack = do $ARGV[0]; $attack->({ worker: $ARGV[1] })`.replace('worker:', 'worker =>'), ATTACK, target]);
  expect(could).toEqual(
    expect.arrayContaining(['connect to the Docker engine', 'read /etc/shadow', 'find another process', 'make a user namespace', 'map 1 GB']),
  );
  expect(could.length).toBeGreaterThan(20);
});

onLinux('as root, nothing of the attack works', async () => {
  const fence = await probeFence();
  expect(fence).toMatchObject({ level: 'A', missing: [] });
  const { could, user } = await attack(attackWords(fence));
  expect(could).toEqual([]);
  expect(user).toBeGreaterThanOrEqual(0x7000_0000);
});

onLinux('without root, nothing of it works either, but the user is that of the worker', async () => {
  const { getuid, execPath } = process;
  // The Node that runs the tests may be in a folder of root's, where that user could not start it.
  const node = join(directory, 'node');
  await copyFile(execPath, node);
  Object.assign(process, { getuid: () => 54_321, execPath: node });
  const fence = await probeFence().finally(() => Object.assign(process, { getuid, execPath }));
  expect(fence).toMatchObject({ level: 'B', missing: ['a user of its own'] });
  const asOther = ['/usr/bin/setpriv', '--reuid=54321', '--regid=54321', '--clear-groups', '--inh-caps=-all', '--bounding-set=-all'];
  expect(await attack([...asOther, ...attackWords(fence)])).toEqual({ could: [], user: 54_321 });
});

/** Containers whose images have the attack, too. */
class Attacked extends PluginContainers {
  override start(spec: PluginContainerSpec) {
    return super.start({ ...spec, files: [...spec.files, ATTACK] });
  }
}

onLinux('in a container that the engine starts beside the worker, nothing of it works', async () => {
  const [sibling] = await siblings(PERL, new Attacked(undefined));
  const child = sibling!.start([`--probe=${ATTACK}`, `--worker=${target}`]);
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  await once(child as never, 'close');
  const { could, user } = resultOf(said);
  expect(could).toEqual([]);
  expect(user).toBeGreaterThanOrEqual(0x7000_0000);
});

onLinux('a worker that is killed leaves no container and no group', async () => {
  const ready = `process.stdout.write('{"type":"ready"}\\n'); setInterval(() => 0, 1000); process.stdin.on('end', () => 0); for (;;);`;
  const loops = join(directory, 'loops.cjs');
  await writeFile(loops, ready);
  const source = `import { probeSiblings } from '${await builtModule('plugins/isolates/fence/fence.ts')}'; const fence = await probeSiblings('${PERL}', { script: '${loops}' });
    if ('obstacle' in fence) throw new Error(fence.obstacle);
    const child = fence.start('${loops}'); child.stdout.once('data', () => console.log('up'));`;
  const worker = spawn(process.execPath, ['--input-type=module', '--eval', source], { stdio: ['ignore', 'pipe', 'inherit'] });
  await Promise.race([once(worker.stdout, 'data'), once(worker, 'exit').then(() => expect('the worker').toBe('running'))]);
  const running = async () => (await run('docker', ['ps', '--all', '--quiet', '--no-trunc', '--filter', 'label=longshore.plugin-fence=process'])).stdout;
  const commands = async () =>
    Promise.all(
      (await running())
        .split('\n')
        .filter(Boolean)
        .map((id) => run('docker', ['inspect', '--format', '{{.Args}}', id])),
    );
  const ours = async () => (await commands().catch(() => [{ stdout: loops }])).filter(({ stdout }) => stdout.includes(loops)).length;
  expect(await ours()).toBe(1);
  worker.kill('SIGKILL');
  await until(async () => (await ours()) === 0, 'its container is gone');
});

onLinux('what a process leaves of its groups is removed when it is gone, and what killed workers left by the next one', async () => {
  const fence = await probeFence();
  const mark = /longshore-plugins\/([^%]+)-%p/.exec(fence.command(script.path).join(' '))?.[1] ?? 'none';
  // Control groups of the first generation have a hierarchy for each controller.
  const isFirst = existsSync('/sys/fs/cgroup/memory/cgroup.procs');
  const place = `/sys/fs/cgroup${isFirst ? '/memory' : ''}/longshore-plugins`;
  const groups = async () =>
    (await readdir(place, { withFileTypes: true })).filter((each) => each.isDirectory() && each.name.startsWith(`${mark}-`)).map(({ name }) => name);
  const made = startPluginProcess(fence, script);
  started.push(made);
  await made.ready;
  expect(await groups()).toEqual([`${mark}-${made.pid}`]);
  expect(await readFile(`${place}/${mark}-${made.pid}/memory.${isFirst ? 'limit_in_bytes' : 'max'}`, 'utf8')).toBe('335544320\n');
  made.kill('the test is over');
  await made.gone;
  expect(await groups()).toEqual([]);
  const leaving = spawn(attackWords(fence)[0] as string, attackWords(fence).slice(1), { stdio: 'ignore' });
  await once(leaving, 'exit');
  expect(await groups()).toHaveLength(1);
  await probeFence();
  expect(await groups()).toEqual([]);
});

onLinux('the fence says what is open where something is', async () => {
  const { stdout } = await unfencedProbe();
  for (const name of ['files', 'network', 'memory', 'socket', 'children']) expect(stdout).toMatch(new RegExp(`^${name}=open `, 'm'));
  const { obstacle } = (await probeSiblings(PERL, { engine: 'unix:///nowhere.sock' })) as { obstacle: string };
  expect(obstacle).toContain('the Docker engine cannot be used: ');
});

onLinux('a fence that is open is measured without a file made or changed on the machine', async () => {
  const places = [directory, '/tmp', '/', '/dev/shm'];
  const left = async () => (await Promise.all(places.map((place) => readdir(place)))).flat().filter((name) => name === 'x' || name.includes('probe'));
  const before = await left();
  const { stdout } = await unfencedProbe();
  expect(stdout).toContain('writing=open ./ /tmp/ / /dev/shm/\n');
  expect(await left()).toEqual(before);
});

function unfencedProbe() {
  const words = ['-e', 'my $probe = do $ARGV[0]; $probe->({ arch => "x64", worker => $ARGV[1] })', PROBE, String(process.pid)];
  return run(PERL, words, { cwd: directory });
}

import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runCommand } from '../../src/platform/run-command.ts';
import { endProcess } from '../../src/setup/server-process.ts';
import { databasesOf, dropDatabase, sandboxRecords } from './databases.ts';

const SETTLE_TIMEOUT_MS = 15_000;
const LABEL = 'longshore.installation';
const TEMPLATE_IMAGE = 'longshore.image=template';
const TEMPLATE_LABEL = 'longshore.template';

/** One thing that a test run should have removed. */
export interface Leftover {
  what: string;
  remove(): Promise<unknown>;
}

/** Where a run's things are looked for, and what belongs to no run. */
export interface Census {
  run: string;
  /** Ids of other test runs that are going on. */
  otherRuns: () => Promise<string[]>;
  /** The engine's own directory, and the checkpoints in it that were orphans before the run. */
  checkpoints?: { directory: string; before: string[] };
  /** Settled for no longer than this. */
  settleMs?: number;
}

/** What is left of a test run after its end, and of test installations that belong to no run; one line each. Removes all of it. */
export async function takeLeftovers({ settleMs = SETTLE_TIMEOUT_MS, ...census }: Census): Promise<string[]> {
  const deadline = Date.now() + settleMs;
  let found = await find(census);
  while (found.length > 0 && Date.now() < deadline) {
    await sleep(250);
    found = await find(census);
  }
  for (const leftover of found) await leftover.remove();
  return found.map(({ what }) => what);
}

/** Removes whatever a run has left. */
export async function removeLeftovers(run: string): Promise<void> {
  for (const leftover of await findNamed((name) => name.startsWith(run), run)) await leftover.remove();
}

async function find({ run, otherRuns, checkpoints }: Omit<Census, 'settleMs'>): Promise<Leftover[]> {
  const alone = (await otherRuns()).length === 0;
  // What carries no run's name is reported only when no other run can have made it.
  const found = await findNamed((name) => name.startsWith(run) || (alone && name.startsWith('test-')), run);
  if (checkpoints) {
    const orphans = (await orphanCheckpoints(checkpoints.directory)).filter((path) => !checkpoints.before.includes(path));
    found.push(...orphans.map((path) => ({ what: `checkpoint ${path}, whose container is gone`, remove: () => rm(path, { recursive: true, force: true }) })));
  }
  return [...found, ...(await databaseLeftovers(run))];
}

/** Processes come first and images last: the one use the others. */
async function findNamed(isOurs: (name: string) => boolean, run: string): Promise<Leftover[]> {
  const containers = await labelled(['ps', '--all', '--format', `{{.Names}}\t{{.Label "${LABEL}"}}`, '--filter', `label=${LABEL}`]);
  const volumes = await labelled(['volume', 'ls', '--format', `{{.Name}}\t{{.Label "${LABEL}"}}`, '--filter', `label=${LABEL}`]);
  const kinds: [string, string[], [name: string, owner: string][]][] = [
    ['container', ['rm', '--force', '--volumes'], containers],
    ['volume', ['volume', 'rm', '--force'], volumes],
    ['image', ['image', 'rm', '--force'], await templateImages()],
  ];
  const things = kinds.flatMap(([kind, removal, all]) =>
    all
      .filter(([, owner]) => isOurs(owner))
      .map(([name, owner]) => ({ what: `${kind} ${name} of ${owner}`, remove: () => runCommand('docker', [...removal, name]) })),
  );
  return [...(await processesOf(run)), ...things];
}

async function labelled(args: string[]): Promise<[name: string, owner: string][]> {
  const { stdout } = await runCommand('docker', args);
  const lines = stdout.split('\n').filter((line) => line !== '');
  return lines.map((line) => {
    const [name = '', owner = ''] = line.split('\t');
    return [name, owner];
  });
}

/** Also those that have lost their names. */
async function templateImages(): Promise<[name: string, owner: string][]> {
  const { stdout } = await runCommand('docker', ['image', 'ls', '--quiet', '--filter', `label=${TEMPLATE_IMAGE}`]);
  const ids = new Set(stdout.split('\n').filter((line) => line !== ''));
  if (ids.size === 0) return [];
  return labelled(['image', 'inspect', '--format', `{{.Id}}\t{{index .Config.Labels "${TEMPLATE_LABEL}"}}`, ...ids]);
}

/** Checkpoints below the engine's directory of which it knows no container; none where that cannot be read. */
export async function orphanCheckpoints(directory: string): Promise<string[]> {
  const found: string[] = [];
  const containers = await readdir(join(directory, 'containers')).catch(() => []);
  const known = containers.length === 0 ? '' : (await runCommand('docker', ['ps', '--all', '--quiet', '--no-trunc'])).stdout;
  for (const id of containers) {
    if (known.includes(id)) continue;
    const checkpoints = join(directory, 'containers', id, 'checkpoints');
    found.push(...(await readdir(checkpoints).catch(() => [])).map((name) => join(checkpoints, name)));
  }
  return found;
}

async function databaseLeftovers(run: string): Promise<Leftover[]> {
  const found: Leftover[] = [];
  for (const name of await databasesOf(run)) {
    found.push(...(await sandboxRecords(name)).map((what) => ({ what: `${what} in database ${name}`, remove: () => Promise.resolve() })));
    found.push({ what: `database ${name}`, remove: () => dropDatabase(name) });
  }
  return found;
}

/** Processes that were started with the run in their environment; the run's own process got it later and is not among them. */
async function processesOf(run: string): Promise<Leftover[]> {
  const found: Leftover[] = [];
  for (const name of await readdir('/proc').catch(() => [])) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
    if (!environment.split('\0').includes(`LONGSHORE_TEST_RUN=${run}`)) continue;
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (command === '' || (await isOwnHelper(pid))) continue;
    found.push({ what: `process ${pid}: ${command.replaceAll('\0', ' ').trim()}`, remove: () => endProcess(pid, 'SIGTERM') });
  }
  return found;
}

/** The test runner's own workers and its docker commands are direct children of this process. */
async function isOwnHelper(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return Number(status.slice(status.lastIndexOf(')') + 2).split(' ')[1]) === process.pid;
}

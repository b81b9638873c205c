import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { endProcess } from '../../src/dev/server-process.ts';
import { runCommand } from '../../src/dev/run-command.ts';

const SETTLE_TIMEOUT_MS = 15_000;
const LABEL = 'longshore.installation';

interface Leftovers {
  containers: Labelled[];
  volumes: Labelled[];
  processes: { pid: number; command: string }[];
}
interface Labelled {
  name: string;
  installation: string;
}

/** What is left of a test run after its end, and of test installations that belong to no run; one line each. Removes all of it. */
export async function takeLeftovers(run: string, otherRuns: () => Promise<string[]>): Promise<string[]> {
  const deadline = Date.now() + SETTLE_TIMEOUT_MS;
  let found = await find(run, otherRuns);
  while (count(found) > 0 && Date.now() < deadline) {
    await sleep(250);
    found = await find(run, otherRuns);
  }
  await remove(found);
  return [
    ...found.containers.map(({ name, installation }) => `container ${name} of installation ${installation}`),
    ...found.volumes.map(({ name, installation }) => `volume ${name} of installation ${installation}`),
    ...found.processes.map(({ pid, command }) => `process ${pid}: ${command}`),
  ];
}

/** Removes whatever a run has left. */
export async function removeLeftovers(run: string): Promise<void> {
  await remove(await find(run, undefined));
}

async function find(run: string, otherRuns: (() => Promise<string[]>) | undefined): Promise<Leftovers> {
  const others = otherRuns ? await otherRuns() : [];
  // What carries no run's name is ours to complain about only when nobody else can have made it.
  const isOurs = ({ installation }: Labelled) =>
    installation.startsWith(run) || (otherRuns !== undefined && others.length === 0 && installation.startsWith('test-'));
  return {
    containers: (await labelled(['ps', '--all', '--format', `{{.Names}}\t{{.Label "${LABEL}"}}`])).filter(isOurs),
    volumes: (await labelled(['volume', 'ls', '--format', `{{.Name}}\t{{.Label "${LABEL}"}}`])).filter(isOurs),
    processes: await processesOf(run),
  };
}

async function labelled(args: string[]): Promise<Labelled[]> {
  const { stdout } = await runCommand('docker', [...args, '--filter', `label=${LABEL}`]);
  const lines = stdout.split('\n').filter((line) => line !== '');
  return lines.map((line) => {
    const [name = '', installation = ''] = line.split('\t');
    return { name, installation };
  });
}

/** Processes that were started with the run in their environment; the run's own process got it later and is not among them. */
async function processesOf(run: string): Promise<Leftovers['processes']> {
  const found: Leftovers['processes'] = [];
  for (const name of await readdir('/proc').catch(() => [])) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
    if (!environment.split('\0').includes(`LONGSHORE_TEST_RUN=${run}`)) continue;
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (command !== '' && !(await isOwnHelper(pid))) found.push({ pid, command: command.replaceAll('\0', ' ').trim() });
  }
  return found;
}

/** The test runner's own workers and its docker commands are direct children of this process. */
async function isOwnHelper(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return Number(status.slice(status.lastIndexOf(')') + 2).split(' ')[1]) === process.pid;
}

async function remove(found: Leftovers): Promise<void> {
  for (const { pid } of found.processes) await endProcess(pid, 'SIGTERM');
  for (const { name } of found.containers) await runCommand('docker', ['rm', '--force', '--volumes', name]);
  for (const { name } of found.volumes) await runCommand('docker', ['volume', 'rm', '--force', name]);
}

function count(found: Leftovers): number {
  return found.containers.length + found.volumes.length + found.processes.length;
}

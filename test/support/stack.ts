import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/platform/config.ts';
import { isAlive, isGone } from '../../src/platform/process-identity.ts';
import { inspectEngine } from '../../src/setup/engine-facts.ts';
import { judgeGvisorScript } from '../../src/setup/gvisor-script.ts';
import { freePort } from '../../src/setup/ports.ts';
import { startPostgres } from '../../src/setup/postgres.ts';
import { runCommand } from '../../src/platform/run-command.ts';
import { ensureSandboxImage } from '../../src/setup/sandbox-image.ts';
import { endProcess } from '../../src/setup/server-process.ts';
import { ensureTemporalCli } from '../../src/setup/temporal-cli.ts';
import { startTemporal } from '../../src/setup/temporal.ts';
import { builtDirectory } from './built-programs.ts';
import { createTemplate } from './databases.ts';
import { orphanCheckpoints, removeLeftovers, type Census } from './leftovers.ts';

const RUNS = join(tmpdir(), 'longshore-test-runs');

export interface TestStack {
  /** For the count of what the tests leave behind. */
  census: Census;
  stop: () => Promise<void>;
}

/** Starts what the tests need, or uses what the environment names; publishes it through the environment of the test processes. */
export async function startTestStack(): Promise<TestStack> {
  const config = loadConfig();
  const log = (line: string) => console.log(line);
  await endDeadRuns();
  const run = `test-${randomBytes(3).toString('hex')}`;
  const directory = join(RUNS, run);
  await mkdir(directory, { recursive: true, mode: 0o755 });
  await writeFile(join(directory, 'pid'), String(process.pid));
  const stops: (() => Promise<void>)[] = [() => removeFilesOf(run)];
  const stop = async () => {
    for (const step of stops.toReversed()) await step();
  };
  try {
    const temporal = async () => {
      if (process.env['TEMPORAL_ADDRESS']) return process.env['TEMPORAL_ADDRESS'];
      const program = await ensureTemporalCli({ home: config.LONGSHORE_HOME, log });
      const server = await startTemporal({ program, port: await freePort(), namespace: 'default', stateDir: directory });
      stops.push(server.stop);
      return server.address;
    };
    const postgres = async () => {
      if (process.env['DATABASE_URL']) return process.env['DATABASE_URL'];
      const server = await startPostgres({
        dataDir: join(directory, 'postgres'),
        port: await freePort(),
        home: config.LONGSHORE_HOME,
        log,
        password: run,
        durable: false,
      });
      stops.push(server.stop);
      return server.url;
    };
    const image = config.LONGSHORE_SANDBOX_IMAGE;
    const [address, url] = await settleAll([temporal(), postgres(), ensureSandboxImage({ image, log })]);
    const template = await createTemplate(run, url);
    stops.push(template.drop);
    await announceGvisor(log);
    Object.assign(process.env, {
      TEMPORAL_ADDRESS: address,
      DATABASE_URL: url,
      LONGSHORE_TEST_TEMPLATE: template.name,
      LONGSHORE_TEST_IMAGE: image,
      LONGSHORE_TEST_RUN: run,
      LONGSHORE_TEST_DIRECTORY: directory,
    });
  } catch (error) {
    await stop();
    throw error;
  }
  const otherRuns = async () => (await listRuns()).filter((other) => other.run !== run && isAlive(other.pid)).map((other) => other.run);
  return { stop, census: { run, otherRuns, checkpoints: await checkpointsBefore() } };
}

async function checkpointsBefore(): Promise<NonNullable<Census['checkpoints']>> {
  const directory = (await runCommand('docker', ['info', '--format', '{{.DockerRootDir}}'])).stdout.trim();
  return { directory, before: await orphanCheckpoints(directory) };
}

/** What hibernates needs an engine with gVisor and checkpoints; where it has none, those tests are left out, and this says so. */
async function announceGvisor(log: (line: string) => void): Promise<void> {
  const facts = await inspectEngine(process.env['DOCKER_HOST']);
  const able = facts.outcome === 'present' && facts.experimental && facts.runtimes.includes('runsc');
  process.env['LONGSHORE_TEST_GVISOR'] = able ? 'yes' : 'no';
  const hasScript = able && (await judgeGvisorScript(facts.gvisorProgram)) === 'current';
  process.env['LONGSHORE_TEST_GVISOR_SCRIPT'] = hasScript ? 'yes' : 'no';
  if (able && !hasScript) log('SKIPPED: the tests of fast waking, since gVisor is registered without the script for it: npm run longshore -- setup --gvisor');
  if (!able) log('SKIPPED: the tests of hibernation, since this engine cannot make checkpoints with gVisor. Set it up: npm run longshore -- setup --gvisor');
}

/** Ends what runs that were killed have left: servers, containers, volumes. */
async function endDeadRuns(): Promise<void> {
  for (const { run, pid } of await listRuns()) {
    if (isAlive(pid)) continue;
    const directory = join(RUNS, run);
    for (const file of (await readdir(directory)).filter((name) => name.endsWith('.process.json'))) {
      const state = JSON.parse(await readFile(join(directory, file), 'utf8')) as { pid: number; server?: string };
      if (!(await isGone(state.server ?? String(state.pid)))) await endProcess(state.pid, 'SIGINT');
    }
    await removeLeftovers(run);
    await removeFilesOf(run);
  }
}

async function removeFilesOf(run: string): Promise<void> {
  const built = builtDirectory(run);
  for (const directory of [built, `${built}-unfinished`, join(RUNS, run)]) await rm(directory, { recursive: true, force: true });
}

async function listRuns(): Promise<{ run: string; pid: number }[]> {
  const names = await readdir(RUNS).catch(() => []);
  return await Promise.all(names.map(async (run) => ({ run, pid: Number(await readFile(join(RUNS, run, 'pid'), 'utf8').catch(() => process.pid)) })));
}

/** As `Promise.all`, but waits for all before it fails: nothing may start after the clean-up. */
async function settleAll<T extends unknown[]>(promises: { [K in keyof T]: Promise<T[K]> }): Promise<T> {
  const settled = await Promise.allSettled(promises);
  for (const outcome of settled) if (outcome.status === 'rejected') throw outcome.reason;
  return (await Promise.all(promises)) as T;
}

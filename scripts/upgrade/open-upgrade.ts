import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, Connection, type WorkflowClient } from '@temporalio/client';
import { stringify } from 'yaml';
import type { ConnectOptions, Longshore } from '../../src/client.ts';
import { mustRun, runCommand } from '../../src/platform/run-command.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { builtCommandLine } from '../../test/support/built-programs.ts';
import { createTestDatabase, testInstallation } from '../../test/support/databases.ts';
import { openHeldProvider, type HeldProvider } from '../../test/e2e/places/held-provider.ts';
import { until } from '../../test/e2e/support.ts';
import { STEPS } from './groups.ts';
import type { OldVersion } from './old-version.ts';

const LAB = fileURLToPath(new URL('../../test/e2e/fixtures/lab', import.meta.url));
type Version = 'old' | 'current';
/** Whether the workers have versions, and turns are pinned to them. */
export type Versions = 'none' | 'versioned' | 'pinned';

export interface UpgradeWorker {
  ready: Promise<void>;
  stop: () => Promise<void>;
}

/** An installation whose database is made by the old version. */
export interface Upgrade extends AsyncDisposable {
  connection: ConnectOptions;
  provider: HeldProvider;
  workflows: WorkflowClient;
  versions: Versions;
  connectOld: () => Promise<Longshore>;
  startOld: () => UpgradeWorker;
  startCurrent: () => UpgradeWorker;
  /** The current version's `longshore setup`. */
  setUp: () => Promise<void>;
  /** Makes it the one that Temporal gives conversations to; nothing where the workers have no versions. */
  useVersion: (version: Version) => Promise<void>;
  /** The version of the worker that has run a conversation's newest workflow task. */
  versionOf: (conversationId: string) => Promise<string | undefined>;
  /** What the running commands wait for. */
  letGo: () => Promise<void>;
}

export async function openUpgrade(old: OldVersion, versions: Versions): Promise<Upgrade> {
  const name = testInstallation();
  const stops: (() => PromiseLike<unknown>)[] = [];
  const dispose = async () => {
    for (const stop of stops.toReversed()) await stop();
  };
  try {
    const database = await createTestDatabase({ schema: 'none' });
    stops.push(() => database[Symbol.asyncDispose]());
    const provider = await openHeldProvider();
    stops.push(() => provider[Symbol.asyncDispose]());
    const agents = await writeAgents(provider);
    stops.push(() => rm(agents, { recursive: true }));
    const temporal = await Connection.connect({ address: loadConfig().TEMPORAL_ADDRESS });
    stops.push(() => temporal.close());
    stops.push(() => removeContainers(name));
    const current = await builtCommandLine();
    const environment = { DATABASE_URL: database.url, LONGSHORE_TASK_QUEUE: name, LONGSHORE_INSTALLATION: name, LONGSHORE_AGENTS: agents };
    const start = (program: string, version: Version, image: Record<string, string>) => {
      const worker = startWorker(program, { ...process.env, ...environment, ...image, ...settingsOf(versions, version) });
      stops.push(worker.stop);
      return worker;
    };
    const { workflow: workflows } = new Client({ connection: temporal });
    const connection = { databaseUrl: database.url, taskQueue: name, agents };
    return {
      connection,
      provider,
      workflows,
      versions,
      connectOld: () => old.connect(connection),
      startOld: () => start(join(old.directory, 'dist/cli/main.js'), 'old', { LONGSHORE_SANDBOX_IMAGE: old.image }),
      startCurrent: () => start(current, 'current', {}),
      setUp: async () => void (await mustRun('longshore setup', process.execPath, [current, 'setup'], { env: environment, fix: 'See its output' })),
      useVersion: (version) => (versions !== 'none' && (version === 'current' || old.hasVersions) ? useVersion(temporal, name, version) : Promise.resolve()),
      async versionOf(conversationId) {
        const { raw } = await workflows.getHandle(conversationId).describe();
        return raw.workflowExecutionInfo?.versioningInfo?.deploymentVersion?.buildId ?? undefined;
      },
      letGo: () => inContainers(name, (container) => runCommand('docker', ['exec', '--user', '1000', container, 'touch', '/home/user/go'])),
      [Symbol.asyncDispose]: dispose,
    };
  } catch (error) {
    await dispose();
    throw error;
  }
}

function settingsOf(versions: Versions, version: Version): Record<string, string> {
  return { ...(versions !== 'none' && { LONGSHORE_WORKER_VERSION: version }), ...(versions === 'pinned' && { LONGSHORE_PINNED_TURNS: 'yes' }) };
}

/** Temporal knows a version a moment after its worker has begun to ask for work. */
async function useVersion({ workflowService }: Connection, deploymentName: string, buildId: Version): Promise<void> {
  const request = { namespace: loadConfig().TEMPORAL_NAMESPACE, deploymentName, buildId, identity: 'test-upgrade', ignoreMissingTaskQueues: true };
  const isTaken = () =>
    workflowService.setWorkerDeploymentCurrentVersion(request).then(
      () => true,
      () => false,
    );
  await until(isTaken, `${buildId} is the current version`);
}

async function writeAgents(provider: HeldProvider): Promise<string> {
  const agents = await mkdtemp(join(tmpdir(), 'longshore-upgrade-agents-'));
  await mkdir(join(agents, 'scripts'));
  const common = {
    instructions: 'Follow the script.',
    approval: [
      { tool: 'lab:look', decide: 'ask' },
      { tool: '*', decide: 'allow' },
    ],
    plugins: [LAB],
  };
  for (const [id, steps] of Object.entries(STEPS)) {
    await writeFile(join(agents, 'scripts', `${id}.yaml`), stringify({ steps }));
    await writeFile(join(agents, `${id}.yaml`), stringify({ id, model: `scripted/scripts/${id}.yaml`, tools: ['lab:*', 'shell:*'], ...common }));
  }
  const { model, modelOptions, tools } = provider.agent;
  await writeFile(join(agents, 'held.yaml'), stringify({ id: 'held', model, modelOptions, tools, instructions: 'Answer.' }));
  return agents;
}

function startWorker(program: string, environment: NodeJS.ProcessEnv): UpgradeWorker {
  const child = spawn(process.execPath, [program, 'worker'], { env: environment, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  const ready = new Promise<void>((resolve, reject) => {
    child.stderr.on('data', (chunk: Buffer) => {
      said = (said + chunk.toString()).slice(-100_000);
      if (said.includes('worker ready')) resolve();
    });
    child.once('exit', (code, signal) => reject(new Error(`a worker ended (${code ?? signal}): ${said.slice(-4_000)}`)));
  });
  const ended = once(child, 'exit');
  return {
    ready,
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

async function inContainers(installation: string, act: (container: string) => Promise<unknown>): Promise<void> {
  const { stdout } = await runCommand('docker', ['ps', '--all', '--quiet', '--filter', `label=longshore.installation=${installation}`]);
  for (const container of stdout.split('\n').filter((line) => line !== '')) await act(container);
}

/** What a run that failed in the middle has left. */
async function removeContainers(installation: string): Promise<void> {
  await inContainers(installation, (container) => runCommand('docker', ['rm', '--force', '--volumes', container]));
}

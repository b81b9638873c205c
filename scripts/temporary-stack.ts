import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig, type Config } from '../src/platform/config.ts';
import { failure } from '../src/contracts/errors.ts';
import { stopAll } from '../src/setup/dev-stack.ts';
import { inspectEngine } from '../src/setup/engine-facts.ts';
import { freePort } from '../src/setup/ports.ts';
import { startPostgres } from '../src/setup/postgres.ts';
import { runCommand } from '../src/platform/run-command.ts';
import { ensureSandboxImage } from '../src/setup/sandbox-image.ts';
import { startTogether } from '../src/setup/start-together.ts';
import { ensureTemporalCli } from '../src/setup/temporal-cli.ts';
import { startTemporal } from '../src/setup/temporal.ts';

export interface TemporaryStack extends AsyncDisposable {
  config: Config;
  /** The settings as the environment of a child process. */
  environment: Record<string, string>;
  uiUrl: string | undefined;
  /** Removed at the end, with all that is in it. */
  directory: string;
  /** Starts it on its data if it has ended, as a service manager does, and says whether it had. */
  restartPostgres(): Promise<boolean>;
  /** Aborted when the script is told to end, which ends the stack. */
  interrupted: AbortSignal;
  /** Adds what ends before the servers, the last one first: at the end of the script, when it is told to end, and when it dies. Throws when the stack is ending. */
  alsoStop(step: () => Promise<void>): void;
}

interface StackOptions {
  /** Where the data of Postgres are, safe from its crashes, in place of the directory of the stack. */
  postgresIn?: string | undefined;
  /** More of the dynamic configuration of Temporal's server. */
  temporal?: Record<string, number> | undefined;
}

type Variables = Record<string, string>;

/**
 * Temporal, Postgres and the sandbox image for one run of a script: servers that the environment names are used, others are started and end with it.
 */
export async function startTemporaryStack(
  purpose: string,
  settings: Record<string, string>,
  log: (line: string) => void,
  { postgresIn, temporal: temporalSettings = {} }: StackOptions = {},
): Promise<TemporaryStack> {
  // Before anything is started: building an image for an engine that is not there takes minutes to fail.
  const engine = settings['DOCKER_HOST'] === undefined ? await inspectEngine(process.env['DOCKER_HOST']) : undefined;
  if (engine?.outcome === 'absent') throw failure('DOCKER_UNAVAILABLE', { problem: engine.problem });
  const directory = await mkdtemp(join(tmpdir(), `longshore-${purpose}-`));
  // For root the data of Postgres would go to a public place if this were private, and stay there.
  await chmod(directory, 0o755);
  const installation = `${purpose}-${randomBytes(4).toString('hex')}`;
  const named = { LONGSHORE_INSTALLATION: installation, LONGSHORE_TASK_QUEUE: installation };
  const given: Record<string, string> = { ...definedOnly(process.env), ...settings, ...named };
  const config = loadConfig(given);
  const stops = [() => rm(directory, { recursive: true, force: true }), () => removeContainers(installation)];
  let stopping: Promise<void> | undefined;
  const stop = () => (stopping ??= stopAll(stops));
  const ending = new AbortController();
  let again = async () => false;
  const postgres = async (signal: AbortSignal): Promise<Variables> => {
    if (given.DATABASE_URL) return {};
    const place = { dataDir: join(postgresIn ?? directory, 'postgres'), durable: postgresIn !== undefined };
    const options = { ...place, port: await freePort(), home: config.LONGSHORE_HOME, log };
    let server = await startPostgres({ ...options, signal });
    stops.push(() => server.stop());
    again = async () => {
      const found = await startPostgres(options);
      if (!found.shared) server = found;
      return !found.shared;
    };
    return { DATABASE_URL: server.url };
  };
  const temporal = async (signal: AbortSignal): Promise<Variables> => {
    if (given.TEMPORAL_ADDRESS) return {};
    const program = await ensureTemporalCli({ home: config.LONGSHORE_HOME, log, signal });
    const ports = { port: await freePort(), uiPort: await freePort() };
    const server = await startTemporal({ program, ...ports, namespace: config.TEMPORAL_NAMESPACE, settings: temporalSettings, stateDir: directory, signal });
    stops.push(() => server.stop());
    return { TEMPORAL_ADDRESS: server.address, ...(server.uiUrl && { UI_URL: server.uiUrl }) };
  };
  const image = (imageSignal: AbortSignal) => ensureSandboxImage({ image: config.LONGSHORE_SANDBOX_IMAGE, log, signal: imageSignal });
  const starting = startTogether<[Variables, Variables, unknown]>(ending.signal, (signal) => [postgres(signal), temporal(signal), image(signal)]);
  const release = stopAtEnd(async () => {
    ending.abort();
    await starting.catch(() => undefined);
    await stop();
  });
  stops.unshift(async () => release());
  const [database, orchestrator] = await starting.catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  const { UI_URL: uiUrl, ...environment }: Record<string, string> = { ...given, ...database, ...orchestrator };
  return {
    config: loadConfig(environment),
    environment,
    uiUrl,
    directory,
    interrupted: ending.signal,
    restartPostgres: () => again(),
    alsoStop(step) {
      if (stopping) throw new Error('the servers of this script are ending');
      stops.push(step);
    },
    [Symbol.asyncDispose]: stop,
  };
}

/**
 * Ends what was started when the script is told to end, unless the script has an order of its own for that; and when it dies of an error that nothing
 * catches, which unwinds no `await using`.
 */
function stopAtEnd(stop: () => Promise<void>): () => void {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const listeners = signals.map((signal) => {
    const listener = () => {
      if (process.listenerCount(signal) > 1) return;
      void stop().finally(() => process.exit(130));
    };
    process.on(signal, listener);
    return () => void process.off(signal, listener);
  });
  // Rejections that nothing handles come here as well.
  const onFault = (fault: unknown) => {
    console.error(fault);
    void stop().finally(() => process.exit(1));
  };
  process.on('uncaughtException', onFault);
  return () => {
    listeners.forEach((off) => off());
    process.off('uncaughtException', onFault);
  };
}

/** Containers in any state, volumes, images and networks of an installation, and what the engine does not say. */
export async function listLeftovers(installation: string): Promise<string[]> {
  const filter = ['--filter', `label=longshore.installation=${installation}`];
  const kinds = {
    container: ['ps', '--all', ...filter, '--format', '{{.Names}} ({{.Status}})'],
    volume: ['volume', 'ls', ...filter, '--format', '{{.Name}}'],
    image: ['image', 'ls', ...filter, '--format', '{{.ID}}'],
    network: ['network', 'ls', ...filter, '--format', '{{.Name}}'],
  };
  const found: string[] = [];
  for (const [kind, command] of Object.entries(kinds)) {
    const { code, stdout, stderr } = await runCommand('docker', command);
    if (code !== 0) found.push(`the engine does not say which ${kind}s there are: ${stderr.trim()}`);
    found.push(...stdout.split('\n').flatMap((name) => (name === '' ? [] : [`${kind} ${name}`])));
  }
  return found;
}

/** What Docker says about the containers of an installation, such as `Up 12 seconds (Paused)`. */
export async function containerStatus(installation: string): Promise<string> {
  const { stdout } = await runCommand('docker', ['ps', '--filter', `label=longshore.installation=${installation}`, '--format', '{{.Status}}']);
  return stdout.trim();
}

/** The conversation removes its own sandbox; this is for a run that was broken off. */
async function removeContainers(installation: string): Promise<void> {
  const filter = ['--quiet', '--filter', `label=longshore.installation=${installation}`];
  const containers = (await runCommand('docker', ['ps', '--all', ...filter])).stdout.split('\n').filter(Boolean);
  if (containers.length > 0) await runCommand('docker', ['rm', '--force', ...containers]);
  const volumes = (await runCommand('docker', ['volume', 'ls', ...filter])).stdout.split('\n').filter(Boolean);
  if (volumes.length > 0) await runCommand('docker', ['volume', 'rm', '--force', ...volumes]);
}

function definedOnly(environment: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(Object.entries(environment).flatMap(([name, value]) => (value === undefined || value === '' ? [] : [[name, value]])));
}

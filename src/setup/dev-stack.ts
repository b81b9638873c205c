import { join } from 'node:path';
import { failure } from '../contracts/errors.ts';
import { readEnvironment, type Config } from '../platform/config.ts';
import { ensureOwnDirectory } from '../platform/own-path.ts';
import { ensureDockerEngine } from './docker-engine.ts';
import { startPostgres } from './postgres.ts';
import { ensureSandboxImage } from './sandbox-image.ts';
import { ensureTemporalCli } from './temporal-cli.ts';
import { startTogether } from './start-together.ts';
import { startTemporal } from './temporal.ts';

export interface DevStack extends AsyncDisposable {
  config: Config;
  /** Absent when this stack did not start Temporal. */
  uiUrl?: string;
}

/** Ports of the servers on the loopback interface. A server whose port is given here is started even when the environment names one. */
export interface DevPorts {
  /** The UI listens on this port plus 1000. */
  temporal?: number;
  postgres?: number;
}

/** Used when the configured address has no port. */
const DEFAULT_TEMPORAL_PORT = 7233;
const DEFAULT_POSTGRES_PORT = 5433;
/** The UI's port minus the server's port; the same as Temporal's own default. */
const UI_PORT_OFFSET = 1000;

/**
 * Starts the servers of a development machine on the addresses of the configuration. Their data are kept under `LONGSHORE_HOME`, so a later start finds
 * the same conversations. Servers that the environment names are used and not started.
 */
export async function startDevStack({ config, log, ports = {}, uiCodec, signal }: DevStackOptions): Promise<DevStack> {
  const home = join(config.LONGSHORE_HOME, 'dev');
  await ensureOwnDirectory(home);
  const stops: (() => Promise<void>)[] = [];
  const stop = () => stopAll(stops);
  const started = await startTogether<[Started, Started, Started]>(signal, (ending) => [
    temporal(config, { home, stops, log, port: ports.temporal, uiCodec, signal: ending }),
    postgres(config, { home, stops, log, port: ports.postgres, signal: ending }),
    sandboxes(config, log, ending),
  ]).catch(async (error: unknown) => {
    await stop();
    if (!signal.aborted) throw error;
    throw failure('SETUP_FAILED', { step: 'Starting the stack', problem: 'it was interrupted', fix: 'Start it again: longshore dev' });
  });
  const [orchestrator, database] = started;
  return {
    config: { ...config, TEMPORAL_ADDRESS: orchestrator.address ?? config.TEMPORAL_ADDRESS, DATABASE_URL: database.url ?? config.DATABASE_URL },
    ...(orchestrator.uiUrl !== undefined && { uiUrl: orchestrator.uiUrl }),
    [Symbol.asyncDispose]: stop,
  };
}

export interface DevStackOptions {
  config: Config;
  log: (line: string) => void;
  ports?: DevPorts;
  /** Where Temporal's UI has payloads decrypted. */
  uiCodec?: string | undefined;
  /** Aborts the start, and ends the servers that were started. */
  signal: AbortSignal;
}

/** Stops all in reverse order, and continues after one that fails. Throws the first error. */
export async function stopAll(stops: (() => Promise<void>)[]): Promise<void> {
  const problems: unknown[] = [];
  for (const step of stops.splice(0).toReversed()) await step().catch((error: unknown) => problems.push(error));
  if (problems.length > 0) throw problems[0];
}

interface Started {
  address?: string;
  uiUrl?: string;
  url?: string;
}

interface Start {
  home: string;
  stops: (() => Promise<void>)[];
  port: number | undefined;
  log: (line: string) => void;
  signal: AbortSignal;
}

async function temporal(config: Config, { home, stops, port: wanted, uiCodec, log, signal }: Start & { uiCodec: string | undefined }): Promise<Started> {
  if (wanted === undefined && readEnvironment('TEMPORAL_ADDRESS')) return {};
  const program = await ensureTemporalCli({ home: config.LONGSHORE_HOME, log, signal });
  const port = wanted ?? (Number(config.TEMPORAL_ADDRESS.split(':').at(-1)) || DEFAULT_TEMPORAL_PORT);
  const server = await startTemporal({
    program,
    port,
    uiPort: port + UI_PORT_OFFSET,
    uiCodec,
    databaseFile: join(home, 'temporal.sqlite'),
    namespace: config.TEMPORAL_NAMESPACE,
    stateDir: home,
    signal,
  });
  stops.push(server.stop);
  return { address: server.address, ...(server.uiUrl !== undefined && { uiUrl: server.uiUrl }) };
}

async function postgres(config: Config, { home, stops, port: wanted, log, signal }: Start): Promise<Started> {
  if (wanted === undefined && readEnvironment('DATABASE_URL')) return {};
  const port = wanted ?? (Number(new URL(config.DATABASE_URL).port) || DEFAULT_POSTGRES_PORT);
  const server = await startPostgres({ dataDir: join(home, 'postgres'), port, home: config.LONGSHORE_HOME, log, signal });
  stops.push(server.stop);
  return { url: server.url };
}

async function sandboxes(config: Config, log: (line: string) => void, signal: AbortSignal): Promise<Started> {
  if (config.LONGSHORE_SANDBOX_BACKEND !== 'docker') return {};
  await ensureDockerEngine({ logFile: join(config.LONGSHORE_HOME, 'dockerd.log'), log, signal });
  await ensureSandboxImage({ image: config.LONGSHORE_SANDBOX_IMAGE, log, signal });
  return {};
}

import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { isFailure } from '../contracts/errors.ts';
import { registerSearchAttributes } from './search-attributes.ts';
import { startServerProcess } from './server-process.ts';

const READY_TIMEOUT_MS = 90_000;
const CONNECT_TIMEOUT_MS = 2_000;
/** By default the single shard reads its queues 20 times a second, so that each step of a workflow waits up to 50 ms. */
const DYNAMIC_CONFIG = { 'history.transferProcessorMaxPollRPS': 2000, 'history.timerProcessorMaxPollRPS': 2000 };
/** Without the write-ahead log, a server with a database file has half the speed under load. */
const PRAGMAS = ['journal_mode=wal', 'synchronous=normal'];

export interface TemporalOptions {
  /** The `temporal` program; see `ensureTemporalCli`. */
  program: string;
  port: number;
  /** When absent, the server has no UI. */
  uiPort?: number;
  /** Where the UI has payloads decrypted. */
  uiCodec?: string | undefined;
  /** When absent, the data are in memory and are lost when the server ends. The file's directory has to exist. */
  databaseFile?: string;
  namespace: string;
  /** More of the server's dynamic configuration. */
  settings?: Record<string, number>;
  /** Directory of its log and its state file. */
  stateDir: string;
  signal?: AbortSignal | undefined;
}

export interface RunningTemporal {
  address: string;
  /** Absent when the server has no UI. */
  uiUrl?: string;
  shared: boolean;
  stop: () => Promise<void>;
}

/**
 * Starts Temporal's development server with Longshore's settings, or shares the one that another process runs with that state directory. The search
 * attributes are registered when this resolves.
 */
export async function startTemporal(options: TemporalOptions): Promise<RunningTemporal> {
  const { port, uiPort, namespace, stateDir } = options;
  const server = await startServerProcess({
    name: 'Temporal',
    program: options.program,
    args: argumentsOf(options),
    stateFile: join(stateDir, 'temporal.process.json'),
    logFile: join(stateDir, 'temporal.log'),
    port,
    facts: { address: `127.0.0.1:${port}`, ...(uiPort === undefined ? {} : { uiUrl: `http://127.0.0.1:${uiPort}` }) },
    isReady: (facts) => prepare(facts.address, namespace),
    readyTimeoutMs: READY_TIMEOUT_MS,
    stopSignal: 'SIGTERM',
    signal: options.signal,
  });
  return { ...server.facts, shared: server.shared, stop: server.stop };
}

function argumentsOf({ port, uiPort, uiCodec, databaseFile, namespace, settings: more }: TemporalOptions): string[] {
  const settings = Object.entries({ ...DYNAMIC_CONFIG, ...more }).flatMap(([key, value]) => ['--dynamic-config-value', `${key}=${value}`]);
  const flags = ['--ip', '127.0.0.1', '--port', String(port), '--namespace', namespace, '--log-level', 'warn'];
  return [
    'server',
    'start-dev',
    ...flags,
    ...(uiPort === undefined ? ['--headless'] : ['--ui-port', String(uiPort), ...(uiCodec === undefined ? [] : ['--ui-codec-endpoint', uiCodec])]),
    ...(databaseFile === undefined ? [] : ['--db-filename', databaseFile, ...PRAGMAS.flatMap((pragma) => ['--sqlite-pragma', pragma])]),
    ...settings,
  ];
}

/** Registers the search attributes and makes a query with one; false while the server is not ready for that. */
async function prepare(address: string, namespace: string): Promise<boolean> {
  let connection: Connection | undefined;
  try {
    connection = await Connection.connect({ address, connectTimeout: CONNECT_TIMEOUT_MS });
    await connection.workflowService.describeNamespace({ namespace });
    await registerSearchAttributes(connection, namespace);
    await connection.workflowService.countWorkflowExecutions({ namespace, query: "ConversationState = 'none'" });
    return true;
  } catch (error) {
    // Waiting does not change that.
    if (isFailure(error, 'TEMPORAL_NOT_PREPARED')) throw error;
    return false;
  } finally {
    await connection?.close();
  }
}

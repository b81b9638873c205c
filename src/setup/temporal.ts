import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { registerSearchAttributes } from './search-attributes.ts';
import { startServerProcess } from './server-process.ts';

const READY_TIMEOUT_MS = 90_000;
const CONNECT_TIMEOUT_MS = 2_000;
/** By default the one shard reads its queues 20 times a second, and every hop of a workflow waits up to 50 ms for that. */
const DYNAMIC_CONFIG = { 'history.transferProcessorMaxPollRPS': 2000, 'history.timerProcessorMaxPollRPS': 2000 };
/** Without the write-ahead log, a database file costs half the speed under load. */
const PRAGMAS = ['journal_mode=wal', 'synchronous=normal'];

export interface TemporalOptions {
  /** The `temporal` program; see `ensureTemporalCli`. */
  program: string;
  port: number;
  /** Without it there is no UI. */
  uiPort?: number;
  /** Without it everything is in memory, and gone with the server. Its directory has to exist. */
  databaseFile?: string;
  namespace: string;
  /** Where its log and the note of its process are kept. */
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
 * Starts Temporal's development server with our settings, or shares the one that another process runs on that state directory. The search
 * attributes are registered when it returns.
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

function argumentsOf({ port, uiPort, databaseFile, namespace }: TemporalOptions): string[] {
  const settings = Object.entries(DYNAMIC_CONFIG).flatMap(([key, value]) => ['--dynamic-config-value', `${key}=${value}`]);
  const flags = ['--ip', '127.0.0.1', '--port', String(port), '--namespace', namespace, '--log-level', 'warn'];
  return [
    'server',
    'start-dev',
    ...flags,
    ...(uiPort === undefined ? ['--headless'] : ['--ui-port', String(uiPort)]),
    ...(databaseFile === undefined ? [] : ['--db-filename', databaseFile, ...PRAGMAS.flatMap((pragma) => ['--sqlite-pragma', pragma])]),
    ...settings,
  ];
}

/** Registers the search attributes and looks at the namespace; false while the server is not up to it yet. */
async function prepare(address: string, namespace: string): Promise<boolean> {
  let connection: Connection | undefined;
  try {
    connection = await Connection.connect({ address, connectTimeout: CONNECT_TIMEOUT_MS });
    await connection.workflowService.describeNamespace({ namespace });
    await registerSearchAttributes(connection, namespace);
    await connection.workflowService.countWorkflowExecutions({ namespace, query: "ConversationState = 'none'" });
    return true;
  } catch {
    return false;
  } finally {
    await connection?.close();
  }
}

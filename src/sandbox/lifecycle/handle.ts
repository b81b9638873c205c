import type { SandboxRow } from '../../store/sandbox-rows.ts';
import { createHandle } from '../handle/create-handle.ts';
import type { SupervisorConnection, WorkingConnection } from '../protocol/supervisor-connection.ts';
import { withSecrets } from '../handle/secrets/with-secrets.ts';
import type { MayWake, WorkerHandle } from '../api/sandbox.ts';
import type { DockerContext } from './base/docker-context.ts';

/** The shortest interval at which use of the sandbox is noted in its row, and its egress rules are read again. Milliseconds. */
const TOUCH_MS = 5000;

/** A handle that wakes its sandbox on access. */
export function createWakingHandle(
  context: DockerContext,
  row: Pick<SandboxRow, 'sandboxId' | 'containerName'>,
  secrets: Record<string, string> = {},
  mayWake?: MayWake,
): WorkerHandle {
  const { work, rows, connections, log } = context;
  const { sandboxId } = row;
  let touchedAtMs = -Infinity;
  const touch = () => {
    if (performance.now() - touchedAtMs < TOUCH_MS) return;
    touchedAtMs = performance.now();
    rows.touch(sandboxId).catch((error: unknown) => log.warn({ sandboxId, err: error }, 'the last use of a sandbox could not be noted'));
    connections.refresh(sandboxId).catch((error: unknown) => log.debug({ sandboxId, err: error }, 'the rules of a sandbox could not be read again'));
  };
  const awake: Awake = (operation, kind = 'perform') => {
    touch();
    return work[kind](row, operation, mayWake);
  };
  return createHandle(withSecrets(createWakingConnection(awake), secrets), sandboxId);
}

type Awake = <T>(operation: (connection: SupervisorConnection) => Promise<T>, kind?: 'perform' | 'observe') => Promise<T>;

/** Wakes the sandbox for each operation. An operation that consists of several calls wakes it for each of them. */
function createWakingConnection(awake: Awake): WorkingConnection {
  return {
    run: (...args) => awake((connection) => connection.run(...args)),
    start: (...args) => awake((connection) => connection.start(...args)),
    attach: (...args) => awake((connection) => connection.attach(...args)),
    input: (...args) => awake((connection) => connection.input(...args)),
    signal: (...args) => awake((connection) => connection.signal(...args)),
    list: () => awake((connection) => connection.list()),
    info: (...args) => awake((connection) => connection.info(...args)),
    forget: (...args) => awake((connection) => connection.forget(...args)),
    calls: (...args) => awake((connection) => connection.calls(...args)),
    hold: (...args) => awake((connection) => connection.hold(...args)),
    answer: (...args) => awake((connection) => connection.answer(...args)),
    conclude: (...args) => awake((connection) => connection.conclude(...args)),
    ping: () => awake((connection) => connection.ping()),
    readFile: (...args) => awake((connection) => connection.readFile(...args)),
    writeFile: (...args) => awake((connection) => connection.writeFile(...args)),
    writePart: (...args) => awake((connection) => connection.writePart(...args)),
    commitParts: (...args) => awake((connection) => connection.commitParts(...args)),
    dropParts: (...args) => awake((connection) => connection.dropParts(...args)),
    packDirectory: (...args) => awake((connection) => connection.packDirectory(...args)),
    unpackDirectory: (...args) => awake((connection) => connection.unpackDirectory(...args)),
    watch: (...args) => awake((connection) => connection.watch(...args), 'observe'),
    listFiles: (...args) => awake((connection) => connection.listFiles(...args)),
    glob: (...args) => awake((connection) => connection.glob(...args)),
    fileInfo: (...args) => awake((connection) => connection.fileInfo(...args)),
    removeFile: (...args) => awake((connection) => connection.removeFile(...args)),
    createDirectory: (...args) => awake((connection) => connection.createDirectory(...args)),
    rename: (...args) => awake((connection) => connection.rename(...args)),
    createCheckpoint: (...args) => awake((connection) => connection.createCheckpoint(...args)),
    checkpoints: () => awake((connection) => connection.checkpoints()),
    restoreCheckpoint: (...args) => awake((connection) => connection.restoreCheckpoint(...args)),
    compareCheckpoint: (...args) => awake((connection) => connection.compareCheckpoint(...args)),
    connectPort: (...args) => awake((connection) => connection.connectPort(...args)),
  };
}

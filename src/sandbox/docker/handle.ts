import { failure } from '../../contracts/errors.ts';
import type { SandboxRow } from '../../store/sandbox-rows.ts';
import { createHandle } from '../connection/create-handle.ts';
import type { SupervisorConnection, WorkingConnection } from '../connection/supervisor-connection.ts';
import { withSecrets } from '../connection/with-secrets.ts';
import type { SandboxHandle } from '../sandbox.ts';
import { bringUp } from './bring-up.ts';
import type { DockerContext } from './context.ts';

/** How often the row is told that the sandbox is in use. Milliseconds. */
const TOUCH_MS = 5000;
/** A sandbox that answers so soon is not frozen. Milliseconds. */
const ANSWER_MS = 10;

/** A handle that wakes its sandbox on access. */
export function createWakingHandle(
  context: DockerContext,
  row: Pick<SandboxRow, 'sandboxId' | 'containerName'>,
  secrets: Record<string, string> = {},
): SandboxHandle {
  const { connections, rows, log } = context;
  const { sandboxId } = row;
  let touchedAtMs = 0;
  /** Operations in progress. */
  let users = 0;
  let queuedCheck: Promise<void> | undefined;
  let runningCheck: Promise<void> = Promise.resolve();

  /** Any number of operations share one check, but none shares one that began before it: that may have seen an older state. */
  const checkAwake = (): Promise<void> => {
    queuedCheck ??= runningCheck
      .catch(() => undefined)
      .then(() => {
        queuedCheck = undefined;
        runningCheck = ensureAwake(context, sandboxId, () => users > 0);
        return runningCheck;
      });
    return queuedCheck;
  };
  const touch = () => {
    if (Date.now() - touchedAtMs < TOUCH_MS) return;
    touchedAtMs = Date.now();
    rows.touch(sandboxId).catch((error: unknown) => log.warn({ sandboxId, err: error }, 'the last use of a sandbox could not be noted'));
  };
  const awake = async <T>(operation: (connection: SupervisorConnection) => Promise<T>): Promise<T> => {
    touch();
    users += 1;
    try {
      return await reach(operation);
    } finally {
      users -= 1;
    }
  };
  const reach = async <T>(operation: (connection: SupervisorConnection) => Promise<T>): Promise<T> => {
    if (!connections.isOpen(sandboxId)) {
      await checkAwake();
      return connections.use(row, operation);
    }
    // Over a live stream the operation goes out at once, and only one that is not answered soon has the row looked at: a frozen sandbox
    // answers when it is thawed.
    const look = () => void checkAwake().catch((error: unknown) => log.debug({ sandboxId, err: error }, 'a sandbox in use could not be woken'));
    const unanswered = setTimeout(look, ANSWER_MS);
    try {
      return await connections.use(row, operation);
    } finally {
      clearTimeout(unanswered);
    }
  };
  return createHandle(withSecrets(createWakingConnection(awake), secrets), sandboxId);
}

type Awake = <T>(operation: (connection: SupervisorConnection) => Promise<T>) => Promise<T>;

/** Each operation is made to find a sandbox that is awake; those that are made up of several find it so each time. */
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
    watch: (...args) => awake((connection) => connection.watch(...args)),
    listFiles: (...args) => awake((connection) => connection.listFiles(...args)),
    glob: (...args) => awake((connection) => connection.glob(...args)),
    fileInfo: (...args) => awake((connection) => connection.fileInfo(...args)),
    removeFile: (...args) => awake((connection) => connection.removeFile(...args)),
    createDirectory: (...args) => awake((connection) => connection.createDirectory(...args)),
    rename: (...args) => awake((connection) => connection.rename(...args)),
  };
}

/** Wakes a resting sandbox. One that runs by its row is left to the connection, which thaws or misses the container by itself. */
async function ensureAwake(context: DockerContext, sandboxId: string, isWanted: () => boolean): Promise<void> {
  const row = await context.rows.get(sandboxId);
  // An operation that is through is no reason to wake what was put to rest since.
  if (row?.state === 'running' || !isWanted()) return;
  // In turn: who copies or packs the sandbox in this process is let finish. That may take longer than the operation is wanted.
  const woken = await context.inTurn(sandboxId, async () => (isWanted() ? bringUp(context, sandboxId, 'wake') : undefined));
  if (woken !== undefined && woken.tier !== 'running')
    throw failure('SANDBOX_LOST', { sandboxId, problem: 'its container has ended; open it again to go on with its files' });
}

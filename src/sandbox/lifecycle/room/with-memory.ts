import type { SandboxTier } from '../../../contracts/conversation.ts';
import { cleanUp } from '../../../platform/clean-up.ts';
import type { SandboxRow, SandboxState } from '../../../store/sandbox-rows.ts';
import type { DockerContext } from '../base/docker-context.ts';
import { isUp } from '../../engine/is-up.ts';
import { withRoom } from './with-room.ts';

/** Why a sandbox is brought up. */
export type Purpose = 'open' | 'wake' | 'attend' | 'copy';
/** Has memory promised for the start of the row's processes, if that needs some. Undefined when another caller has changed the row. */
type Promised = (row: SandboxRow, purpose: Purpose) => Promise<true | undefined>;

const NEEDS_MEMORY: ReadonlySet<SandboxState> = new Set(['hibernated', 'stopped', 'archived']);

/**
 * Does work that may start the processes of a sandbox that has none. Their memory is promised before, and while they run, their row says so. When the work fails, or
 * ends without processes, the promise ends with it; what a crash leaves keeps the memory for the next try, or until the reaper ends it.
 */
export async function withMemory<T extends { tier: SandboxTier }>(
  context: DockerContext,
  sandboxId: string,
  work: (promised: Promised) => Promise<T>,
): Promise<T> {
  const { rows, hostId } = context;
  let isJoined = false;
  let token: string | undefined;
  let runs = false;
  const promised: Promised = async (row, purpose) => {
    if (!NEEDS_MEMORY.has(row.state) && !(row.state === 'lost' && purpose === 'open')) return true;
    if (isJoined && row.promised?.for === 'wake' && row.promised.hostId === hostId) return true;
    const take = () => rows.promise(sandboxId, row.generation, hostId);
    const made = await (purpose === 'copy' ? take() : withRoom(context, row, take));
    if (!made) return undefined;
    isJoined = true;
    token = made.token;
    return true;
  };
  try {
    const ended = await work(promised);
    runs = ended.tier === 'running';
    return ended;
  } finally {
    const held = token;
    if (held !== undefined && !runs) {
      await cleanUp(() => endPromise(context, { sandboxId, token: held }), { log: context.log, what: 'memory that was promised to a sandbox', sandboxId });
    }
  }
}

/** Ends promises of this host that led to nothing: their workers have died. */
export async function endPromises(context: DockerContext, olderThanMs: number): Promise<void> {
  for (const { row, token } of await context.rows.listPromised(context.hostId, olderThanMs)) {
    await endPromise(context, { sandboxId: row.sandboxId, token });
  }
}

/** Unless the processes run: then a later start or rest finds them. */
async function endPromise({ engine, rows }: DockerContext, { sandboxId, token }: { sandboxId: string; token: string }): Promise<void> {
  const row = await rows.get(sandboxId);
  const container = row && (await engine.inspect(row.containerName));
  if (!isUp(container)) await rows.release(sandboxId, { token });
}

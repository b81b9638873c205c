import { failure } from '../../../contracts/errors.ts';
import type { SandboxRow } from '../../../store/sandbox-rows.ts';
import { volumeNameOf } from '../../engine/labels.ts';
import { elsewhere, type DockerContext } from './docker-context.ts';

/** The row of a sandbox that is on this host now, and why it is without its processes and files when it was taken over. */
export interface RowHere {
  row: SandboxRow;
  cause?: string;
}

/** The sandbox is to be removed: if it expires at that time, where one is given. */
interface Removal {
  expiresAt?: string | undefined;
}

/**
 * The row of a sandbox on this host. One of a host that is lost is taken over: it gets the number of a container that is to be made here, without its files. Undefined when
 * another caller has changed it meanwhile.
 * @param removal one that is being made needs no room here then, and one that expires at another time stays where it is
 * @throws SANDBOX_NOT_FOUND; SANDBOX_UNREACHABLE when it is on another host that is there, or may be
 */
export async function rowHere(context: DockerContext, sandboxId: string, removal?: Removal): Promise<RowHere | undefined> {
  const { rows, hosts, hostId, installation, lostAfterMs, log } = context;
  const row = await rows.get(sandboxId);
  if (row === undefined) throw failure('SANDBOX_NOT_FOUND', { sandboxId });
  const expiresAt = removal?.expiresAt;
  if (row.hostId === hostId || row.state === 'archived' || (expiresAt !== undefined && row.expiresAt !== expiresAt)) return { row };
  const since = await hosts.lostSince(row.hostId, { hostId, lostAfterMs });
  if (since === undefined) throw elsewhere(context, row);
  const cause = `its host "${row.hostId}" has not been heard of since ${since}`;
  const fence = await rows.drawFence();
  const place = { hostId, fence, volumeName: `${volumeNameOf(installation, sandboxId)}.${fence}` };
  const isNew = row.state === 'creating' || row.state === 'destroyed';
  const change = isNew ? { state: removal ? ('destroyed' as const) : row.state } : { state: 'lost' as const, filesLost: true, lost: cause };
  const taken = await rows.takeOver(sandboxId, row.generation, { ...change, ...place, ifExpired: expiresAt !== undefined }, lostAfterMs);
  if (taken === undefined) return undefined;
  log.warn({ sandboxId, from: row.hostId, since, state: row.state }, 'a sandbox of a lost host was taken over');
  return { row: taken, cause };
}

import { createHash } from 'node:crypto';
import { Agent } from 'node:https';
import { certifyClient, type Certified } from '../../certificates/certificates.ts';
import { failure } from '../../contracts/errors.ts';
import type { HostNeeds } from '../../contracts/hosts/needs.ts';
import type { Logger } from '../../platform/log.ts';
import { forAllTenants } from '../../store/database/tenant-scope.ts';
import type { HostWorker } from '../../store/service/hosts.ts';
import type { Store } from '../../store/store.ts';
import { CERTIFICATE_DAYS, channelAuthority } from '../channel/authority.ts';
import { SERVICE_NAME, type Call, type ChannelRequest } from '../channel/calls.ts';
import { connectTo, NotConnectedError, type OpenCall } from './open-call.ts';

/** A sandbox, and for whom it is asked. */
export interface Target extends Omit<ChannelRequest, 'call'> {
  /** Undefined for an archived sandbox: any host brings it back that has what it needs. */
  hostId: string | undefined;
  needs?: HostNeeds;
}

/** Calls sandboxes through the workers of their hosts. */
export interface HostClient {
  /** Begins a call. Aborting the signal ends it at both sides. @throws HOST_AWAY */
  open(target: Target, call: Call, signal: AbortSignal): Promise<OpenCall>;
}

export function createHostClient({ hosts, log }: { hosts: Store['hosts']; log: Logger }): HostClient {
  let loading: Promise<{ agent: Agent }> | undefined;
  const load = () => {
    loading ??= createAgent(hosts).catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
  return {
    async open({ hostId, needs, ...target }, call, signal) {
      const { sandboxId } = target;
      // Workers belong to no tenant.
      const [{ agent }, listed] = await forAllTenants(() => Promise.all([load(), hosts.list(hostId, needs)]));
      const workers = ordered(listed, sandboxId);
      for (const worker of workers) {
        try {
          return await connectTo({ worker, agent, signal }, { ...target, call });
        } catch (error) {
          if (!(error instanceof NotConnectedError)) throw error;
          // It may have died a moment ago; another one of the host serves as well.
          log.warn({ err: error, worker }, 'a worker cannot be reached');
        }
      }
      throw failure('HOST_AWAY', { sandboxId, problem: workers.length === 0 ? 'none is there' : 'it cannot be reached' });
    },
  };
}

async function createAgent(hosts: Store['hosts']): Promise<{ agent: Agent }> {
  const authority = await channelAuthority(hosts);
  const own: Certified = certifyClient(SERVICE_NAME, authority, new Date(), { days: CERTIFICATE_DAYS });
  const identity = { key: own.key, cert: own.certificate, ca: authority.certificate, minVersion: 'TLSv1.3' } as const;
  // Each call has a connection of its own: an idle one that the worker closes at that moment would lose a call.
  return { agent: new Agent({ ...identity, keepAlive: false }) };
}

/** Calls of one sandbox go to the same worker of its host, which knows when the last of them has ended. */
function ordered(workers: HostWorker[], sandboxId: string): HostWorker[] {
  const rank = ({ workerId }: HostWorker) => createHash('sha256').update(`${sandboxId} ${workerId}`).digest('hex');
  return workers
    .map((worker) => ({ worker, rank: rank(worker) }))
    .toSorted((a, b) => (a.rank < b.rank ? -1 : 1))
    .map(({ worker }) => worker);
}

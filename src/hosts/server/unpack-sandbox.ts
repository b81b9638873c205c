import { Readable } from 'node:stream';
import type { Agent } from '../../contracts/agent.ts';
import { failure } from '../../contracts/errors.ts';
import { sandboxIdOf } from '../../contracts/ids.ts';
import type { Sandboxes } from '../../sandbox/api/host-sandboxes.ts';
import type { Store } from '../../store/store.ts';
import type { CallOf, ChannelRequest } from '../channel/calls.ts';
import { dataOf } from '../channel/messages.ts';
import type { Wire } from './wire.ts';

interface UnpackParts {
  store: Pick<Store, 'imports'>;
  sandboxes: Pick<Sandboxes, 'unpack'>;
  agents: ReadonlyMap<string, Agent>;
}
type Asked = Pick<ChannelRequest, 'sandboxId' | 'tenantId' | 'conversationId'> & CallOf<'sandboxes.unpack'>;

/** The conversation owns the sandbox when its import is complete. One that does not come to its end is destroyed after this time. Milliseconds. */
const UNOWNED_TTL_MS = 3_600_000;

/** Makes the sandbox of a conversation that is being imported. The service has checked its caller; what it asks for is compared again. */
export async function unpackSandbox(
  { store, sandboxes, agents }: UnpackParts,
  { sandboxId, tenantId, conversationId, agentId }: Asked,
  { incoming, sender }: Pick<Wire, 'incoming' | 'sender'>,
): Promise<void> {
  const found = await store.imports.get(conversationId);
  if (!found || found.report || found.tenantId !== tenantId || sandboxId !== sandboxIdOf(conversationId)) throw failure('IMPORT_REPLACED', { conversationId });
  const agent = agents.get(agentId);
  if (!agent)
    throw failure('AGENT_NOT_FOUND', {
      agent: agentId,
      known: [...agents.keys()].join(', ') || 'none',
      directory: 'the agents directory of the worker and restart it',
    });
  const content = Readable.from(dataOf(incoming), { objectMode: false });
  await sandboxes.unpack(content, { sandboxId, tenantId, ttlMs: UNOWNED_TTL_MS }, agent.sandbox);
  await sender.json(null);
}

import type { Parent } from '../../src/contracts/sub-agent.ts';
import type { Store } from '../../src/store/store.ts';
import { newConversation, newId } from './support.ts';

const LIMITS = { most: 49, levels: 3 };

/** A message begins a turn. */
export async function begin(store: Store, conversationId: string): Promise<string> {
  await store.transcript.append(conversationId, 'turn_1', undefined, newId('msg'), { role: 'user', content: [{ type: 'text', text: 'go' }] });
  return conversationId;
}

/** A sub-agent at work; `sandboxOf`: the conversation whose sandbox it shares. */
export async function subAgent(store: Store, path: string[], sandboxOf: string | undefined): Promise<{ id: string; parent: Parent }> {
  const [rootId = ''] = path;
  const [callId, asker] = [newId('call'), path.at(-1) ?? ''];
  const sandbox = sandboxOf === undefined ? {} : { sandbox: { use: 'shared' as const, conversationId: sandboxOf } };
  const parent = { conversationId: asker, callId, path, ...sandbox };
  const id = await begin(store, await newConversation(store, { parent, state: 'running' }));
  await store.treePlaces.ask({ callId, rootId, askerId: asker, subAgentId: id, depth: path.length }, LIMITS);
  return { id, parent };
}

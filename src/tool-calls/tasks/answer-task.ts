import { createHash } from 'node:crypto';
import type { Agent } from '../../contracts/agent.ts';
import type { Json, JsonObject } from '../../contracts/json.ts';
import { TOO_MANY_TIMERS, type PluginTimer } from '../../contracts/plugins/timer.ts';
import type { ContentPart } from '../../contracts/transcript.ts';
import { TaskRefused, type AnswerTask, type ConversationWish, type TaskQuestion } from '../../plugins/api/task-question.ts';
import { modelName } from '../../common/model-name.ts';
import type { Registry } from '../../plugins/registry/registry.ts';
import type { PluginInConversation } from '../../store/conversation/plugin-timers.ts';
import type { Store } from '../../store/store.ts';
import { boundedPart } from '../results/bounded-parts.ts';
import { problemOfPart, resultTextOf } from '../results/tool-result.ts';
import { createAllowance } from './allowance.ts';
import { isClosed, type ModelDesk, type PlaceOfTask } from './model-desk.ts';

export interface TaskParts {
  store: Pick<Store, 'conversations' | 'events' | 'transcript' | 'pluginTimers'>;
  registry: Pick<Registry, 'forAgent'>;
  agents: ReadonlyMap<string, Agent>;
  /** Begins a turn, once for each id, in which the model reads the newest notes. A conversation that has ended is told nothing. */
  wake: (conversationId: string, wakeId: string) => Promise<void>;
  desk: Pick<ModelDesk, 'ask'>;
}

/** What tasks of a plugin may give to a conversation within an hour. */
const MOST_AN_HOUR = 100;
/** The newest conversations of each agent, of which those that are open are listed. */
const MOST_LISTED = 1_000;

/** Answers what tasks of plugins in Python ask, outside of calls. */
export function createAnswerTask(parts: TaskParts): AnswerTask {
  const allowance = createAllowance(MOST_AN_HOUR);
  return async (question) => {
    const { pluginId, tenantId, wish } = question;
    if (wish.what === 'conversations') return (await conversationsWith(parts, pluginId, tenantId)).map((each) => ({ ...each }));
    const place = () => placeOf(parts, { ...question, wish });
    if (wish.what === 'model') return parts.desk.ask({ ...question, wish, place });
    const { turnId, agent } = await place();
    if (wish.what === 'model-name') return modelName(agent);
    const given = wish.what === 'send' ? wish.parts.length : wish.what === 'note' ? 1 : 0;
    if (!allowance.take(`${pluginId} ${wish.conversationId}`, question.id, given)) {
      throw new TaskRefused(`tasks of a plugin can give ${MOST_AN_HOUR} messages and notes an hour to a conversation, and these were given`);
    }
    return fulfil(parts, { ...question, wish }, turnId);
  };
}

type Wished<Wish = ConversationWish> = Omit<TaskQuestion, 'wish'> & { wish: Wish };
type Giving = Exclude<ConversationWish, { what: 'model' | 'model-name' }>;

/** The newest turn of the conversation that a task names, and its agent. @throws TaskRefused where the plugin has no business in it */
async function placeOf({ store, registry, agents }: TaskParts, { pluginId, tenantId, wish: { what, conversationId } }: Wished): Promise<PlaceOfTask> {
  const row = await store.conversations.get(conversationId);
  // Of a conversation of another tenant, it learns nothing.
  if (row?.tenantId !== tenantId) throw new TaskRefused(`there is no conversation "${conversationId}"`);
  if (row.state === 'closed') throw isClosed(conversationId);
  const agent = agents.get(row.agentId);
  if (!agent || !hasPlugin(registry, agent, pluginId)) throw new TaskRefused(`the agent of the conversation "${conversationId}" does not have this plugin`);
  const turnId = await store.transcript.newestTurn(conversationId);
  if (turnId === undefined) throw new TaskRefused(`the conversation "${conversationId}" has not begun`);
  if (what === 'model' && row.status.parent)
    throw new TaskRefused(`the conversation "${conversationId}" is that of a sub-agent, for which tasks cannot ask the model`);
  return { turnId, agent };
}

/** The open conversations of a tenant whose agents have the plugin, newest first. */
async function conversationsWith(
  { store, registry, agents }: TaskParts,
  pluginId: string,
  tenantId: string,
): Promise<{ conversationId: string; agentId: string }[]> {
  const having = [...agents.values()].filter((agent) => hasPlugin(registry, agent, pluginId));
  const rows = await Promise.all(having.map(({ id: agentId }) => store.conversations.list({ tenantId, agentId, limit: MOST_LISTED })));
  const open = rows.flat().filter(({ state }) => state !== 'closed');
  return open.map(({ conversationId, agentId }) => ({ conversationId, agentId }));
}

function hasPlugin(registry: Pick<Registry, 'forAgent'>, agent: Agent, pluginId: string): boolean {
  try {
    return registry.forAgent(agent).some((tool) => tool.pluginId === pluginId);
  } catch {
    // An agent that cannot work has no plugins.
    return false;
  }
}

async function fulfil(parts: TaskParts, { pluginId, id, wish }: Wished<Giving>, turnId: string): Promise<Json> {
  const { conversationId } = wish;
  const { pluginTimers } = parts.store;
  const place = { pluginId, conversationId };
  switch (wish.what) {
    case 'send':
      await sendParts(parts, wish, { pluginId, id, turnId });
      return true;
    case 'note':
      await tellOnce(parts, { conversationId, turnId, key: `task-${pluginId}-${id}`, text: `From ${pluginId}: ${wish.text}` });
      if (wish.wake) await parts.wake(conversationId, wakeIdOf('task', pluginId, id));
      return true;
    case 'set-timer':
      await setTimer(parts, place, { ...wish.timer, timerId: `task-${id}` });
      return true;
    case 'clear-timers':
      await pluginTimers.clear(place, wish.temporary === undefined ? {} : { temporary: wish.temporary });
      return true;
    default:
      return (await pluginTimers.waiting(place)).map(asPluginsHaveThem);
  }
}

async function setTimer({ store }: TaskParts, place: PluginInConversation, timer: PluginTimer): Promise<void> {
  const outcome = await store.pluginTimers.set(place, timer);
  if (outcome === 'full') throw new TaskRefused(TOO_MANY_TIMERS);
  if (outcome === 'closed') throw isClosed(place.conversationId);
}

function asPluginsHaveThem({ timerId, dueMs, text, temporary }: PluginTimer): JsonObject {
  return { id: timerId, due: Math.floor(dueMs / 1000), text, temporary };
}

interface Origin {
  pluginId: string;
  id: string;
  turnId: string;
}

async function sendParts(
  { store }: TaskParts,
  { conversationId, parts }: ConversationWish & { what: 'send' },
  { pluginId, id, turnId }: Origin,
): Promise<void> {
  for (const part of parts) refuseUnfit(part);
  for (const [index, part] of parts.map(boundedPart).entries()) {
    const data = { callId: `task-${id}`, tool: pluginId, index, part };
    await store.events.append(conversationId, [{ type: 'message.sent', turnId, data, key: `sent/task-${pluginId}-${id}/${index}` }]);
    const text = `${pluginId} said to the user: ${resultTextOf([part])}`;
    await store.transcript.append(conversationId, turnId, undefined, `sent-task-${pluginId}-${id}-${index}`, { role: 'note', text });
  }
}

function refuseUnfit(part: ContentPart): void {
  const problem = problemOfPart({ ...part });
  if (problem !== undefined) throw new TaskRefused(`a message with ${problem}`);
}

/** Adds a note for the model, and an event that shows it. */
export async function tellOnce(
  { store }: { store: Pick<Store, 'events' | 'transcript'> },
  { conversationId, turnId, key, text }: { conversationId: string; turnId: string; key: string; text: string },
): Promise<void> {
  await store.transcript.append(conversationId, turnId, undefined, `noted-${key}`, { role: 'note', text });
  await store.events.append(conversationId, [{ type: 'note', turnId, data: { text }, key: `noted/${key}` }]);
}

/** Short, whatever the ids are. */
export function wakeIdOf(kind: 'task' | 'timer', pluginId: string, id: string): string {
  const digest = createHash('sha256').update(JSON.stringify([pluginId, id]));
  return `${kind}-${digest.digest('hex').slice(0, 32)}`;
}

import { abortAfter } from '../../common/abort-after.ts';
import { RecentMap } from '../../common/recent-map.ts';
import { modelName } from '../../common/model-name.ts';
import type { Agent } from '../../contracts/agent.ts';
import type { Json } from '../../contracts/json.ts';
import type { Usage } from '../../contracts/usage.ts';
import { MOST_LIMITED_ANSWER } from '../../models/context/afford-step.ts';
import { promptTokens } from '../../models/context/prompt-size.ts';
import type { PricedModels } from '../../models/create-models.ts';
import type { ModelRequest } from '../../models/model.ts';
import type { Logger } from '../../platform/log.ts';
import { TaskRefused, type ConversationWish, type TaskQuestion } from '../../plugins/api/task-question.ts';
import { isPostgresAway } from '../../store/database/database-failures.ts';
import type { AskingPlace, Attempt, TaskQuestions } from '../../store/service/task-questions.ts';
import { affordable, patiently, replyOf, requestOf } from '../ask/question-to-model.ts';
import { redact } from '../results/redact.ts';

/** The newest turn of a conversation, and its agent. */
export interface PlaceOfTask {
  turnId: string;
  agent: Agent;
}

type Asked = Omit<TaskQuestion, 'wish'> & {
  wish: Extract<ConversationWish, { what: 'model' }>;
  /** Called when the question is about to be asked. @throws TaskRefused where the plugin has no business in the conversation */
  place: () => Promise<PlaceOfTask>;
};

export interface ModelDesk {
  /** The answer of the model to a task; undefined while it is not there. @throws TaskRefused, with what the plugin is told */
  ask(question: Asked): Json | undefined;
  /** Returns when nothing is being asked any more, after the signal has aborted. */
  settled(): Promise<void>;
}

interface Parts {
  store: { taskQuestions: Omit<TaskQuestions, 'used'> };
  models: PricedModels;
  log: Logger;
  /** Aborts when this worker ends: others ask what has no answer. */
  signal: AbortSignal;
}

/** What a plugin of a tenant may ask a model at the same time, of each worker. */
const AT_ONCE = 4;
/** What a plugin may ask within an hour for a conversation. */
const MOST_AN_HOUR = 100;
/** Answers that are kept until their plugins have them. */
const MOST_KEPT = 100;
const HOLD_EVERY_MS = 5_000;
/** The plugin waits for five minutes. */
const TIMEOUT_MS = 290_000;

type Outcome = { ok: Json } | { error: string };

/**
 * Asks models for tasks of plugins, outside of calls and steps. What a question may use at the most is counted before it is asked, and what it has used in its
 * place, before the plugin has the answer; the workflow learns of it with the next step.
 */
export function createModelDesk(parts: Parts): ModelDesk {
  const asking = new Map<string, { of: string; ended: Promise<void> }>();
  const answers = new RecentMap<string, Outcome>(MOST_KEPT);
  return {
    ask(question) {
      const of = JSON.stringify([question.pluginId, question.tenantId]);
      const key = `${of} ${question.id}`;
      const answer = answers.get(key);
      if (answer && 'error' in answer) throw new TaskRefused(answer.error);
      if (answer) return answer.ok;
      if (asking.has(key) || [...asking.values()].filter((other) => other.of === of).length >= AT_ONCE) return undefined;
      const ended = askOnce(parts, question)
        .then((ok) => ok !== undefined && answers.set(key, { ok }))
        .catch((error: unknown) => {
          if (parts.signal.aborted) return;
          if (isPostgresAway(error)) parts.log.info({ plugin: question.pluginId, err: error }, 'a question of a task to the model is asked again');
          else answers.set(key, { error: redact(error instanceof Error ? error.message : String(error)) });
        })
        .finally(() => asking.delete(key));
      asking.set(key, { of, ended: ended.then(() => undefined) });
      return undefined;
    },
    async settled() {
      await Promise.all([...asking.values()].map(({ ended }) => ended));
    },
  };
}

/** Undefined: another worker asks it. */
async function askOnce(parts: Parts, question: Asked): Promise<Json | undefined> {
  const { pluginId, id: questionId, wish } = question;
  const { agent, turnId } = await question.place();
  const { taskQuestions } = parts.store;
  const { conversationId } = wish;
  const request = requestOf({ conversationId, turnId }, wish.question, abortAfter(TIMEOUT_MS, parts.signal));
  let most: Usage | undefined;
  const attempt = await taskQuestions.reserve({ conversationId, turnId, pluginId, questionId }, modelName(agent), (place) => {
    most = mostOf(parts, agent, question, request, place);
    return most;
  });
  if (attempt === 'held') return undefined;
  if (attempt === 'gone') throw new TaskRefused(`there is no conversation "${conversationId}"`);
  const answer = await answerOf(parts, agent, { ...request, ...(most && { maxOutputTokens: most.outputTokens }) }, attempt);
  if (!(await taskQuestions.settle(attempt, answer.usage))) {
    parts.log.warn(
      { plugin: pluginId, conversationId, usage: answer.usage },
      'a conversation was removed while a task asked the model, and this is not counted',
    );
  }
  const { usage, ...reply } = replyOf(answer);
  return { ...reply, usage: { ...usage }, model: modelName(agent) };
}

/** The most that the question may use. @throws TaskRefused, or an Error that names the part of the budget that is used up */
function mostOf(
  { models }: Parts,
  agent: Agent,
  { wish: { conversationId, question } }: Asked,
  request: ModelRequest,
  { state, mayUse, used, asked }: AskingPlace,
): Usage {
  if (state === 'closed' || state === 'closing') throw isClosed(conversationId);
  if (state === 'paused') throw new TaskRefused(`the conversation "${conversationId}" is paused; ask the model when it goes on`);
  if (!mayUse) throw new TaskRefused(`what is left of the budget of the conversation "${conversationId}" is not known; ask the model after its next turn`);
  if (asked >= MOST_AN_HOUR)
    throw new TaskRefused(`tasks of a plugin can ask the model ${MOST_AN_HOUR} times an hour for a conversation, and they have done so`);
  const left = affordable(mayUse, { ...used, costUsd: used.knownCostUsd }, request, models.isPriced(agent)) ?? MOST_LIMITED_ANSWER;
  const outputTokens = Math.min(left, question.maxOutputTokens ?? MOST_LIMITED_ANSWER);
  const inputTokens = promptTokens({ ...request, compactions: [], recall: '' });
  return { inputTokens, outputTokens, costUsd: models.costOf(agent, { inputTokens, outputTokens }) };
}

async function answerOf({ store: { taskQuestions }, models, signal }: Parts, agent: Agent, request: ModelRequest, attempt: Attempt) {
  const held = setInterval(() => void taskQuestions.hold(attempt).catch(() => undefined), HOLD_EVERY_MS);
  try {
    return await patiently(() => models.get(agent).answer(request, () => undefined), request.signal);
  } catch (error) {
    // The provider may have worked for a question that was given up.
    if (!request.signal.aborted) await taskQuestions.drop(attempt);
    if (request.signal.aborted && !signal.aborted) throw new Error(`the model has not answered within ${TIMEOUT_MS / 1_000} seconds`, { cause: error });
    throw error;
  } finally {
    clearInterval(held);
  }
}

export function isClosed(conversationId: string): TaskRefused {
  return new TaskRefused(`the conversation "${conversationId}" is closed`);
}

import { createHash } from 'node:crypto';
import { inTime } from '../../common/in-time.ts';
import { stableJson } from '../../common/stable-json.ts';
import type { CallModelArgs } from '../../contracts/activities.ts';
import type { Agent } from '../../contracts/agent.ts';
import type { JsonObject } from '../../contracts/json.ts';
import type { Logger } from '../../platform/log.ts';
import type { HostOfQuestion } from '../../plugins/api/server-question.ts';
import type { HookPoint, HookQuestion, HookReply, StepHook } from '../../plugins/api/step-hook.ts';
import { decide } from '../../plugins/approval/decide.ts';
import type { RegisteredTool, Registry } from '../../plugins/registry/registry.ts';
import type { Store } from '../../store/store.ts';
import { answerQuestions } from '../run/answer-questions.ts';
import { sendFromHooks, type SentByHooks } from './send-from-hooks.ts';

/** The sandbox of a plugin may have to be started first. */
const HOOK_TIMEOUT_MS = 30_000;

type Handler = RegisteredTool & { hook: StepHook };

/** What plugins have made of a value. */
export interface Hooked {
  value: JsonObject;
  /** The plugin that has stopped what it was asked about. */
  stoppedBy?: string;
  /** What they send to the user. */
  sent: SentByHooks[];
}

/** The plugins of an agent that take part in one step. */
export interface StepHooks {
  has(point: HookPoint): boolean;
  /** What the model answers may still be changed. */
  changeAnswers: boolean;
  /**
   * Asks the handlers of a point, in their order, each with what the ones before it have made of the value. One that fails is left out, unless its failure is
   * to stop the message.
   * @param about names what the value belongs to: the same question about it has the same answer in each attempt. What tells its contents from others is its `digest`
   */
  run(point: HookPoint, about: { id: string; digest?: string }, value: JsonObject): Promise<Hooked>;
  /** Sends to the user what plugins have given, once. The model is told of it with the next step. */
  send(sent: Hooked['sent']): Promise<void>;
  /** Removes what was kept for repeated questions: the step has its answer. */
  forget(): Promise<void>;
}

interface Parts {
  store: Pick<Store, 'events' | 'transcript'>;
  registry: Registry;
  log: Logger;
  /** What handlers may use for their n-th question. */
  host: (number: number) => HostOfQuestion;
}

export function createStepHooks({ store, registry, log, host }: Parts, agent: Agent, args: CallModelArgs): StepHooks {
  const { conversationId, userId, tenantId, agentId } = args;
  const conversation = { conversationId, userId, tenantId, agentId };
  const handlers = registry.forAgent(agent).filter((tool): tool is Handler => tool.hook !== undefined && decide(agent, tool, {}).decision !== 'deny');
  const kept: HookReply[] = [];
  const has = (point: HookPoint) => handlers.some(({ hook }) => hook.point === point);
  return {
    has,
    changeAnswers: has('answered') || has('sending'),
    async run(point, { id, digest }, given) {
      const hooked: Hooked = { value: given, sent: [] };
      for (const [index, group] of groupsAt(handlers, point).entries()) {
        const [{ hook, id: tool, pluginId }] = group;
        const key = `hook_${id}_${point}_${index}`;
        const execId = digest === undefined ? key : `${key}_${digest}`;
        let isOver = false;
        const answering: HookQuestion['answering'] = (handle, answer) =>
          answerQuestions(handle, {
            ask: ({ what, args: given, number }) => answer({ what, args: given, ...host(number) }),
            commandsOf: () => ({}),
            isOver: () => isOver,
          });
        try {
          const asked = hook.run(
            group.map((each) => each.hook.handler),
            { point, execId, conversation, value: hooked.value, answering },
          );
          const reply = await inTime(asked, HOOK_TIMEOUT_MS, () => new Error(`it did not answer within ${HOOK_TIMEOUT_MS} ms`));
          kept.push(reply);
          hooked.value = reply.value;
          if (reply.sent.length > 0) hooked.sent.push({ key, tool, parts: reply.sent });
          if (reply.stopped) return { ...hooked, stoppedBy: pluginId };
        } catch (error) {
          log.warn({ plugin: pluginId, conversationId, point, err: error }, 'a plugin failed to take part in a step');
          if (group.some((each) => each.hook.stopsOnFailure)) return { ...hooked, stoppedBy: pluginId };
        } finally {
          isOver = true;
        }
      }
      return hooked;
    },
    send: (sent) => sendFromHooks(store, args, sent),
    async forget() {
      await Promise.allSettled(kept.splice(0).map((reply) => reply.forget()));
    },
  };
}

/** The handlers in their order. Those of one plugin that follow each other are asked together. */
function groupsAt(handlers: Handler[], point: HookPoint): [Handler, ...Handler[]][] {
  const sorted = handlers.filter(({ hook }) => hook.point === point).toSorted((a, b) => compare(a.hook.order, b.hook.order) || (a.id < b.id ? -1 : 1));
  const groups: [Handler, ...Handler[]][] = [];
  for (const handler of sorted) {
    const last = groups.at(-1);
    if (last?.[0].pluginId === handler.pluginId) last.push(handler);
    else groups.push([handler]);
  }
  return groups;
}

function compare(a: readonly number[], b: readonly number[]): number {
  return a.map((number, index) => number - (b[index] ?? 0)).find((difference) => difference !== 0) ?? 0;
}

/** Tells a value from others of the same step: an attempt that asks the model again has another answer. */
export function digestOf(value: JsonObject): string {
  return createHash('sha256').update(stableJson(value)).digest('hex').slice(0, 12);
}

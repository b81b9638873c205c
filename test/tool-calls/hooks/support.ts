import type { CallModelArgs } from '../../../src/contracts/activities.ts';
import type { Agent } from '../../../src/contracts/agent.ts';
import type { JsonObject } from '../../../src/contracts/json.ts';
import type { ContentPart } from '../../../src/contracts/transcript.ts';
import { createLogger } from '../../../src/platform/log.ts';
import { definePlugin, defineTool, type Plugin } from '../../../src/plugins/api/define-plugin.ts';
import type { HookPoint, HookReply, StepHook } from '../../../src/plugins/api/step-hook.ts';
import { createRegistry } from '../../../src/plugins/registry/registry.ts';
import { createStepHooks } from '../../../src/tool-calls/hooks/step-hooks.ts';
import type { Store } from '../../../src/store/store.ts';

/** What a plugin answers when it is asked. */
export type Answer = (value: JsonObject, handlers: string[], execId: string) => { value?: JsonObject; stopped?: boolean; sent?: ContentPart[] };

export interface HandlerOptions {
  order?: number[];
  stopsOnFailure?: boolean;
  answer?: Answer;
}

/** A plugin with one handler for each name. */
export function hooked(id: string, point: HookPoint, handlers: Record<string, HandlerOptions>): Plugin {
  const tools = Object.entries(handlers).map(([handler, { order = [0], stopsOnFailure = false, answer = () => ({}) }]) => {
    const run: StepHook['run'] = async (names, { value, execId }): Promise<HookReply> => ({
      value,
      stopped: false,
      sent: [],
      forget: async () => undefined,
      ...answer(value, names, execId),
    });
    const tool = defineTool({ id: `hook.${handler}`, description: handler, parameters: { type: 'object' }, execute: async () => '' });
    return { ...tool, hook: { point, order, stopsOnFailure, handler, run } };
  });
  return definePlugin({ id, tools });
}

export const args = {
  conversationId: 'conv_1',
  agentId: 'sailor',
  userId: 'user-1',
  tenantId: 'default',
  turnId: 'turn_1',
  stepId: 'step_1',
  step: 0,
} as CallModelArgs;

/** The hooks of an agent with these plugins, and what they send. */
export function bench(plugins: Plugin[], agent: Partial<Agent> = {}) {
  const sent: unknown[] = [];
  const replaced: unknown[] = [];
  const registry = createRegistry(plugins);
  const whole = { id: 'sailor', tools: ['*'], plugins: [], approval: [], requireApproval: {}, ...agent } as unknown as Agent;
  const store = {
    events: { append: async (_: string, events: { data: { part: ContentPart } }[]) => void sent.push(...events.map(({ data }) => data.part)) },
    transcript: {
      append: async () => true,
      replaceMessage: async (_: string, seq: number, entry: unknown) => void replaced.push([seq, entry]),
    },
  } as unknown as Pick<Store, 'events' | 'transcript'>;
  const host = { askModel: async () => Promise.reject(new Error('the model cannot be asked')), modelName: 'scripted', saidSoFar: async () => [] };
  const hooks = createStepHooks({ store, registry, host: () => host, log: createLogger({ LONGSHORE_LOG_LEVEL: 'silent' }) }, whole, args);
  return { hooks, registry, agent: whole, store, sent, replaced };
}

import { z } from 'zod';
import { defineTool, type Tool } from '../../../api/define-plugin.ts';
import type { HookQuestion, HookReply } from '../../../api/step-hook.ts';
import type { WorkerHandle } from '../../../../sandbox/api/sandbox.ts';
import { answerQuestion } from '../../shared/python/answer-question.ts';
import { askProcess } from '../../shared/python/ask-process.ts';
import type { Reached } from '../../shared/python/reached.ts';
import { callerOf } from './caller-of.ts';
import type { Described } from './described.ts';
import { idOf } from '../../shared/python/id-of.ts';

/** Handlers have 25 seconds at most each; the worker waits for all of them together. */
const ANSWER_TIMEOUT_MS = 28_000;
const data = z.string();

const replySchema = z.object({
  value: z.object({ value: z.record(z.string(), z.json()), stopped: z.boolean() }),
  sent: z
    .array(
      z.union([
        z.object({ type: z.literal('text'), text: z.string() }),
        z.object({ type: z.literal('image'), mediaType: z.string(), data }),
        z.object({ type: z.literal('file'), mediaType: z.string(), name: z.string().min(1).max(200), data }),
      ]),
    )
    .max(100),
});

/** The handlers of hooks and events as tools that nothing calls: so an agent names those that take part in its steps as it names tools. */
export function hooksOf({ hooks }: Described, reached: Reached): Tool[] {
  const run = (handlers: string[], question: HookQuestion) => runHandlers(reached, handlers, question);
  return hooks.flatMap(({ name, of, point, order, stopsOnFailure }): Tool[] => {
    if (point === null) return [];
    const tool = defineTool({
      id: idOf(name),
      description: `Takes part in each step: ${of}`,
      parameters: { type: 'object', additionalProperties: false },
      visibility: 'hidden',
      execute: () => Promise.reject(new Error('it takes part in steps, and nothing calls it')),
    });
    return [{ ...tool, isolation: 'own', ownSandbox: reached.own, hook: { point, order, stopsOnFailure, handler: name, run } }];
  });
}

async function runHandlers(reached: Reached, handlers: string[], { point, execId, conversation, value, answering }: HookQuestion): Promise<HookReply> {
  const request = { name: `hook:${point}`, arguments: { handlers, value }, caller: callerOf(conversation) };
  const options = { execId, timeoutMs: ANSWER_TIMEOUT_MS, answering: (handle: WorkerHandle) => answering(handle, answerQuestion) };
  const { result, forget } = await askProcess(reached, conversation.tenantId, request, options);
  const { value: answer, sent } = replySchema.parse(result);
  return { ...answer, sent, forget };
}

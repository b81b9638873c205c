import { z } from 'zod';
import type { JsonObject } from '../../../../contracts/json.ts';
import type { ServerAnswer } from '../../../../sandbox/api/host-methods.ts';
import type { ToolContext, ToolResult } from '../../../api/define-plugin.ts';
import { answerQuestion } from './answer-question.ts';
import { deliver, givenSchema } from './deliver.ts';
import type { Reached } from './reached.ts';

const answerSchema = givenSchema.extend({
  /** What the function returned. */
  value: z.json().optional(),
  /** What it threw instead. */
  failed: z.string().optional(),
});

export interface PythonCall {
  reached: Reached;
  tool: string;
  timeoutMs: number;
  /** What the plugin is told of the caller. */
  caller: JsonObject;
  /** What its function returns, as a result of a tool. */
  resultOf: (value: unknown, texts: string[]) => ToolResult | Promise<ToolResult>;
  /** Texts that it sends are not sent: the result is made of them. */
  keepsTexts?: boolean;
}

/**
 * Calls a tool of the plugin in its sandbox. The answer is in the journal of the sandbox, with what the plugin has sent: another worker that attaches to the
 * call sends the same, and the messages of a call are sent once.
 */
export async function callPython(
  { reached, tool, timeoutMs, caller, resultOf, keepsTexts = false }: PythonCall,
  input: JsonObject,
  context: ToolContext,
): Promise<ToolResult> {
  const request = { method: 'tools/call', params: { name: tool, arguments: input, caller, ...reached.settings() } };
  const answer = await context.sandbox.callServer(reached.server(), request, { timeoutMs, ask: answerQuestion });
  if (answer.outcome !== 'answered') throw problemOf(answer, timeoutMs);
  const parsed = answerSchema.safeParse(answer.result);
  if (!parsed.success) throw new Error('its answer is not usable; the plugin may have written to the connection of its host');
  const { value = null, failed, sent } = parsed.data;
  const texts = sent.flatMap((part) => (keepsTexts && part.type === 'text' ? [part.text] : []));
  await deliver({ ...parsed.data, sent: sent.filter(({ type }) => !keepsTexts || type !== 'text') }, context, reached.timers);
  if (failed !== undefined) throw new Error(failed);
  return resultOf(value, texts);
}

function problemOf(answer: Exclude<ServerAnswer, { outcome: 'answered' }>, timeoutMs: number): Error {
  switch (answer.outcome) {
    case 'refused':
      return new Error(answer.message);
    case 'absent':
      return new Error(`the plugin cannot be started, and the call was not made: ${answer.why}`);
    case 'gone':
      return new Error(
        `the process of the plugin ended during this call, so it is not known whether the call took effect (${answer.why}); the next call starts it again`,
      );
    default:
      return new Error(`it took longer than ${timeoutMs} ms, and the plugin was told to stop it`);
  }
}

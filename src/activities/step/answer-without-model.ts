import { Context } from '@temporalio/activity';
import type { CallModelArgs } from '../../contracts/activities.ts';
import type { AssistantPart } from '../../contracts/transcript.ts';
import type { NewEvent } from '../../store/store.ts';
import type { CalledCommand } from '../../tool-calls/offer/command-of.ts';
import { beginStep, storeAnswer, type AnswerParts, type StoredAnswer } from './store-answer.ts';

/** Stand for the model in what is counted of a step that a command of a plugin answers, or a plugin that has stopped the message. */
const COMMAND = 'command';
const PLUGIN = 'plugin';

/** The answer of a step of a command: its call, and then what it said. */
export function answerByCommand(parts: AnswerParts, args: CallModelArgs, { tool, text, said }: CalledCommand): Promise<StoredAnswer> {
  const called = { type: 'tool-call' as const, callId: '', tool: tool.id, arguments: { text } };
  return answer(parts, args, said === undefined ? called : { type: 'text', text: said }, COMMAND);
}

/** The answer to messages that plugins have stopped. */
export function answerByPlugin(parts: AnswerParts, args: CallModelArgs, said: string): Promise<StoredAnswer> {
  return answer(parts, args, { type: 'text', text: said }, PLUGIN);
}

/** No model is asked, so nothing is used. */
async function answer(parts: AnswerParts, args: CallModelArgs, part: AssistantPart, by: string): Promise<StoredAnswer> {
  const { turnId, stepId } = args;
  const { attempt } = Context.current().info;
  const other = await beginStep(parts.store, args);
  if (other) return other;
  const stamp = { turnId, stepId, attempt };
  const told: NewEvent[] = part.type === 'text' ? [{ ...stamp, type: 'text.delta', data: { text: part.text } }] : [];
  return storeAnswer(parts, args, { parts: [part], usage: { inputTokens: 0, outputTokens: 0, costUsd: 0 } }, { model: by, told });
}

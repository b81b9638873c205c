import { ProtocolErrorCode, type ElicitResult } from '@modelcontextprotocol/client';
import type { Question } from '../../../../contracts/questions/question.ts';
import type { ToolContext } from '../../../api/define-plugin.ts';
import { readQuestion } from './read-question.ts';
import { NO_CALL, refusal } from './refusal.ts';

/** Answers a question of a server: asks the person behind the call to which it belongs. */
export async function answerQuestion(
  server: string,
  given: unknown,
  call: { askPerson?: ToolContext['askPerson'] } | undefined,
  signal: AbortSignal,
): Promise<ElicitResult> {
  const question = questionOf(server, given);
  if (!call) throw refusal(ProtocolErrorCode.InvalidRequest, NO_CALL);
  const { action, content } = (await call.askPerson?.(question, signal)) ?? { action: 'cancel' };
  return { action, ...(content && { content: content as NonNullable<ElicitResult['content']> }) };
}

function questionOf(server: string, given: unknown): Question {
  try {
    return readQuestion(server, given);
  } catch (error) {
    throw refusal(ProtocolErrorCode.InvalidParams, (error as Error).message);
  }
}

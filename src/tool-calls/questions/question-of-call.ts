import { QUESTION, type Question } from '../../contracts/questions/question.ts';
import { readQuestion } from '../../plugins/dialects/mcp/questions/read-question.ts';
import type { MethodAnswer, MethodCall } from '../../sandbox/api/methods.ts';
import { refusedAnswer } from '../results/method-answer.ts';

/** Questions that a server may ask during one call. */
export const MOST_QUESTIONS = 20;

/** What a server in the sandbox asks. Any program there can send it. */
export function questionOfCall(server: string, { tool, number, arguments: given }: MethodCall): { question: Question } | { refused: MethodAnswer } {
  if (tool !== QUESTION) return { refused: refusedAnswer('NOT_ALLOWED', 'An MCP server cannot call the tools of the conversation.') };
  if (number > MOST_QUESTIONS) return { refused: refusedAnswer('TOO_MANY', `a server may ask ${MOST_QUESTIONS} questions during one call`) };
  try {
    return { question: readQuestion(server, given) };
  } catch (error) {
    return { refused: refusedAnswer('MALFORMED', (error as Error).message) };
  }
}

import type { Asking } from '../../contracts/mcp/server.ts';
import { QUESTION, SAMPLING, type Question } from '../../contracts/questions/question.ts';
import { readQuestion } from '../../plugins/dialects/mcp/questions/read-question.ts';
import { askWhether, readSampling } from '../../plugins/dialects/mcp/questions/read-sampling.ts';
import type { MethodAnswer, MethodCall } from '../../sandbox/api/methods.ts';
import { refusedAnswer } from '../results/method-answer.ts';

/** Questions to a person that a server may ask during one call. */
export const MOST_QUESTIONS = 20;

/** What a server in the sandbox asks. Any program there can send it. Without a `question`, the model is asked, and no person. */
export function questionOfCall({ server, sampling }: Asking, { tool, arguments: given }: MethodCall): { question?: Question } | { refused: MethodAnswer } {
  if (tool !== QUESTION && (tool !== SAMPLING || !sampling)) {
    return { refused: refusedAnswer('NOT_ALLOWED', 'An MCP server cannot call the tools of the conversation.') };
  }
  try {
    if (tool === QUESTION) return { question: readQuestion(server, given) };
    const asked = readSampling(given);
    return sampling === 'ask' ? { question: askWhether(server, asked) } : {};
  } catch (error) {
    return { refused: refusedAnswer('MALFORMED', (error as Error).message) };
  }
}

import type { z } from 'zod';
import { failure } from '../contracts/errors.ts';
import { operatorText } from '../contracts/operator-text.ts';
import { replyOf, type EndedTurn } from './end-of-turn.ts';

/**
 * The answer of a turn as a value, as the schema of zod gives it when there is one.
 * @throws TURN_FAILED for a turn that did not finish, ANSWER_INVALID when it has no such answer
 */
export async function answerOf<Value>(turn: EndedTurn, schema?: z.ZodType<Value>): Promise<Value> {
  replyOf(turn);
  const { turnId, output } = turn;
  if (output === undefined) throw failure('ANSWER_INVALID', { problems: `turn ${turnId} has none, since neither its agent nor its message has an "output"` });
  if (!schema) return output as Value;
  const parsed = await schema.safeParseAsync(output);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => `/${path.map(String).join('/')}: ${message}`).join('; ');
  throw failure('ANSWER_INVALID', { problems: operatorText(problems) });
}

import { openAiErrorOf } from '../http/refuse.ts';
import type { Problem } from '../http/problem.ts';
import type { Json } from '../../contracts/json.ts';
import type { Answer, Media, Schema } from './document.ts';

/** How a route of another protocol tells its errors. */
export type RefusalFormat = 'text' | 'openai';

/** The same refusals, as a route of another protocol gives them. */
export function refusalsAs(format: RefusalFormat | undefined, answers: Record<string, Answer>): Record<string, Answer> {
  if (format === undefined) return answers;
  return Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, { ...answer, content: contentAs(format, answer) }]));
}

function contentAs(format: RefusalFormat, { content = {} }: Answer): Record<string, Media> {
  const problems = Object.entries(Object.values(content)[0]?.examples ?? {}).map(([code, { value }]) => [code, value as unknown as Problem] as const);
  const examplesAs = (show: (problem: Problem) => Json) => Object.fromEntries(problems.map(([code, problem]) => [code, { value: show(problem) }]));
  if (format === 'text') {
    const schema: Schema = { type: 'string', description: 'What is wrong, with which value, and what to do. The header x-longshore-error has the code' };
    return { 'text/plain': { schema, examples: examplesAs(({ detail }) => detail) } };
  }
  return { 'application/json': { schema: OPENAI, examples: examplesAs(openAiErrorOf) } };
}

const text: Schema = { type: 'string' };
const OPENAI: Schema = {
  type: 'object',
  required: ['error'],
  properties: {
    error: { type: 'object', required: ['message', 'type', 'param', 'code'], properties: { message: text, type: text, param: { type: 'null' }, code: text } },
  },
};

import { ERRORS } from '../../contracts/error-table/error-rows.ts';
import { LongshoreError, type ErrorCode } from '../../contracts/errors.ts';
import type { Json } from '../../contracts/json.ts';
import { problemOf } from '../http/problem.ts';
import type { Answer } from './document.ts';
import { EXAMPLES } from './example-of.ts';

const REQUEST = '0b6f8f4e-6c1c-4b5e-9d5a-3f6c2a7d1e90';

/** The answers of a route that has these errors: one for each status, which names its codes. */
export function problemAnswers(codes: ReadonlySet<ErrorCode>): Record<string, Answer> {
  const answers: Record<string, Answer> = {};
  for (const status of new Set([...codes].map((code) => ERRORS[code].httpStatus))) {
    answers[status] = answerOf([...codes].filter((code) => ERRORS[code].httpStatus === status));
  }
  // Faults of the service itself are told as SERVICE_AWAY, which has 503 when it is over soon.
  if (codes.has('SERVICE_AWAY')) answers['500'] = answerOf(['SERVICE_AWAY'], 500);
  return answers;
}

function answerOf(codes: ErrorCode[], status?: number): Answer {
  const examples = Object.fromEntries(codes.map((code) => [code, { value: exampleProblem(code, status) }]));
  const schema = { allOf: [{ $ref: '#/components/schemas/Problem' }, { type: 'object', properties: { code: { enum: codes } } }] };
  return { description: codes.map((code) => `\`${code}\``).join(', '), content: { 'application/problem+json': { schema, examples } } };
}

function exampleProblem(code: ErrorCode, status: number | undefined): Json {
  const names = [...ERRORS[code].message.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const values = Object.fromEntries(names.map((name) => [name, VALUES[name] ?? EXAMPLES[name] ?? '…'])) as Record<string, string>;
  const { problem } = problemOf(new LongshoreError(code, values), { id: REQUEST });
  return { ...problem, ...(status !== undefined && { status }) };
}

/** Of the texts of errors, where a field of that name is something else. */
const VALUES: Record<string, string | number> = {
  what: 'body.user',
  problem: 'it is undefined',
  fix: 'Give a text',
  scope: 'conversations:write',
  limit: 100,
  cause: 'POSTGRES_UNAVAILABLE',
  request: REQUEST,
  known: 'captain, fixer',
  key: 'order-4711',
  expected: 'b94d27b9934d3e08',
  given: '1c2f0a77e4b0aa31',
};

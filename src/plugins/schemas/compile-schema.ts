import type { Json, JsonObject } from '../../contracts/json.ts';
import { compileExactly } from './compile-exactly.ts';
import { compileWithAjv, createJudge, type Evaluate } from './compile-with-ajv.ts';
import type { SchemaDraft } from './schema-draft.ts';
import { weigh } from './estimate.ts';

export const MOST_PROBLEMS = 8;

export interface ToCompile {
  schema: JsonObject | boolean;
  dialect: SchemaDraft;
  needsExact: boolean;
}

/**
 * Makes a compiler for any schema. Compiling and checking have no time limit here, so this is for a thread that can be terminated.
 * The compiler throws an Error that says why a schema cannot be used.
 */
export function createAnyCompiler(): (given: ToCompile) => (value: Json) => string[] {
  const judge = createJudge();
  return ({ schema, dialect, needsExact }) => {
    if (dialect !== 'draft-04') judge(schema, dialect);
    const evaluate = (needsExact || dialect === 'draft-04' ? compileExactly : compileWithAjv)(schema, dialect);
    return (value) => problemsOf(evaluate, value);
  };
}

/** The first problems of a value, without duplicates. */
export function problemsOf(evaluate: Evaluate, value: Json): string[] {
  const weight = weigh(value);
  return 'hostile' in weight ? [weight.hostile] : firstOf(evaluate(value));
}

export function firstOf(problems: Iterable<string>): string[] {
  const first = new Set<string>();
  for (const problem of problems) {
    first.add(problem);
    if (first.size === MOST_PROBLEMS) break;
  }
  return [...first];
}

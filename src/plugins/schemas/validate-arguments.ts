import { failure } from '../../contracts/errors.ts';
import type { Json, JsonObject } from '../../contracts/json.ts';
import { firstOf } from './compile-schema.ts';
import { compileWithAjv, createJudge, type Evaluate } from './compile-with-ajv.ts';
import { schemaDraftOf, type SchemaDraft } from './schema-draft.ts';
import { estimate, weigh, type Estimate } from './estimate.ts';
import type { TaskEnding, Task } from './lane.ts';
import { createLoopBudget } from './loop-budget.ts';
import { pathOfPattern } from './path-of-pattern.ts';
import { createValidators, type Validators } from './validators.ts';
import { reasonOf } from './words.ts';

/**
 * Problems of a value, each with its path. If schema and value are small and simple, the check runs at once in the event loop; otherwise it runs in a
 * thread with a time limit.
 */
export interface Check {
  (value: Json): string[] | Promise<string[]>;
  /** Throws PLUGIN_INVALID if the schema is invalid. Most schemas are compiled before this is called. */
  compiled(): Promise<void>;
}

export type Compile = (pluginId: string, toolId: string, part: Part, schema: JsonObject) => Check;
/** `owner`: whose schema it is, for the turns of the threads. `unusable` makes the error that says why a schema is invalid. */
export type CompileSchema = (owner: string, schema: JsonObject, unusable: (why: string, cause?: Error) => Error) => Check;
type Part = 'parameters' | 'result' | 'configuration';

/** The maximum number of evaluations and comparisons of a check in the event loop. Each takes far less than a microsecond. */
const MOST_WORK = 100_000;
const MOST_NODES = 10_000;
/** The maximum number of parts of a schema that is compiled in the event loop. Each takes about 20 microseconds. */
const MOST_PARTS = 300;

/** All compilers share them, so the number of threads and the time in the event loop are bounded for the whole process. */
const shared = { validators: createValidators(), budget: createLoopBudget() };
let keys = 0;

/**
 * Makes a compiler from JSON Schemas of tools (draft 4 to 2020-12) to checks of arguments and results.
 * The compiler throws PLUGIN_INVALID if it finds at once that a schema is invalid; `compiled` of the check always finds it.
 */
export function createCompiler(options: { validators?: Validators } = {}): Compile {
  const compile = createSchemaCompiler(options);
  return (pluginId, toolId, part, schema) => compile(pluginId, schema, (why, cause) => invalid(pluginId, toolId, part, why, cause));
}

/** The same for schemas that are of no plugin. */
export function createSchemaCompiler({ validators = shared.validators }: { validators?: Validators } = {}): CompileSchema {
  const judge = createJudge();
  // The same schemas are compiled when a plugin is checked, started and configured.
  const known = new WeakMap<JsonObject, Check>();
  const compile: CompileSchema = (owner, { $schema, ...schema }, unusable) => {
    const estimated = orThrow(() => estimate(schema), unusable);
    const dialect = schemaDraftOf({ ...schema, ...($schema !== undefined && { $schema }) }, estimated.hasTuples);
    const source = { schema, dialect, estimated };
    const inThread = checkInThread(validators, owner, source, unusable);
    if (!isPlain(source)) return inThread;
    return checkInLoop(source, () => orThrow(() => (judge(schema, dialect), compileWithAjv(schema, dialect)), unusable), inThread);
  };
  return (owner, schema, unusable) => {
    const check = known.get(schema) ?? compile(owner, schema, unusable);
    known.set(schema, check);
    return check;
  };
}

interface Source {
  schema: JsonObject;
  dialect: SchemaDraft;
  estimated: Estimate;
}

function isPlain({ dialect, estimated: { needsExact, size, parts, patterns } }: Source): boolean {
  return !needsExact && dialect !== 'draft-04' && Math.max(size, parts) <= MOST_PARTS && patterns < Infinity;
}

/** Compiles at once if the budget of the event loop allows it, otherwise at the first check when it does. The thread does what exceeds the limits. */
function checkInLoop({ estimated }: Source, make: () => Evaluate, inThread: Check): Check {
  let evaluate = shared.budget.spend(estimated.parts) ? make() : undefined;
  const check = (value: Json) => {
    const weight = weigh(value, MOST_NODES);
    if ('hostile' in weight) return [weight.hostile];
    if (workOf(estimated, weight) > MOST_WORK) return inThread(value);
    if (!evaluate && shared.budget.spend(estimated.parts)) evaluate = make();
    return evaluate ? firstOf(evaluate(value)) : inThread(value);
  };
  return Object.assign(check, { compiled: async () => (evaluate ? undefined : inThread.compiled()) });
}

function workOf({ parts, patterns, pairs }: Estimate, { nodes, characters }: { nodes: number; characters: number }): number {
  return parts * nodes + patterns * characters ** 2 + pairs * nodes ** 2;
}

function checkInThread(validators: Validators, owner: string, { schema, dialect, estimated: { needsExact } }: Source, unusable: (why: string) => Error): Check {
  const task: Task = { key: (keys += 1), toCompile: { schema, dialect, needsExact } };
  const tooMuch = ({ overrun, pattern }: Extract<TaskEnding, { overrun: string }>) => {
    const path = pattern === undefined ? undefined : pathOfPattern(schema, pattern);
    return pattern === undefined ? `its schema ${overrun}` : `the pattern ${JSON.stringify(pattern)} of its schema${path ? ` (at ${path})` : ''} ${overrun}`;
  };
  const check = async (value: Json) => {
    const ending = await validators.run(owner, { ...task, value });
    if ('problems' in ending) return ending.problems;
    if ('unusable' in ending) return [`/: cannot be checked, since its schema is not a valid JSON Schema (${ending.unusable})`];
    return [`/: cannot be checked: ${tooMuch(ending)}. Give a smaller value, or simplify the schema`];
  };
  const compiled = async () => {
    const ending = await validators.run(owner, task);
    if ('unusable' in ending) throw unusable(ending.unusable);
    if ('overrun' in ending) throw unusable(tooMuch(ending));
  };
  return Object.assign(check, { compiled });
}

function orThrow<Result>(work: () => Result, unusable: (why: string, cause: Error) => Error): Result {
  try {
    return work();
  } catch (error) {
    throw unusable(reasonOf(error as Error), error as Error);
  }
}

function invalid(pluginId: string, toolId: string, part: Part, why: string, cause?: Error): Error {
  const which = {
    parameters: `the parameters of tool "${toolId}" are`,
    result: `the resultSchema of tool "${toolId}" is`,
    configuration: 'its configSchema is',
  };
  const problem = `${which[part]} not a valid JSON Schema (${why})`;
  return failure(
    'PLUGIN_INVALID',
    { plugin: JSON.stringify(pluginId), problem, fix: 'Correct the schema; drafts 4, 6, 7, 2019-09 and 2020-12 are known' },
    cause,
  );
}

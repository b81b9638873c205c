import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { failure } from '../contracts/errors.ts';
import type { Json, JsonObject } from '../contracts/json.ts';

const MAX_PROBLEMS = 8;
/** That a validator compiles before another takes its place. */
const MOST_SCHEMAS = 100;
const MAX_DEPTH = 100;
const MAX_VALUE_LENGTH = 80;

/**
 * `ownProperties`: an inherited property never satisfies a schema. `strict` is off since schemas of other systems carry keywords of their own. Making the code of
 * a check shorter takes about a third of the time of making it, and calls do not feel it.
 */
const OPTIONS: Options = { ownProperties: true, allErrors: true, strict: false, verbose: true, addUsedSchema: false, logger: false, code: { optimize: false } };

export type Compile = (pluginId: string, toolId: string, part: Part, schema: JsonObject) => (value: Json) => string[];
type Part = 'parameters' | 'result' | 'configuration';

/**
 * Makes a compiler of tools' JSON Schemas (draft 7 or 2020-12) to checks of arguments and results. A check gives all problems, each naming its path.
 * The compiler throws PLUGIN_INVALID when a schema itself is wrong.
 */
export function createCompiler(): Compile {
  // Made once for many tools: it first compiles the schema of schemas.
  const judges = { older: onDemand(() => withFormats(new Ajv(OPTIONS))), newer: onDemand(() => withFormats(new Ajv2020(OPTIONS))) };
  const judged: Options = { ...OPTIONS, validateSchema: false };
  const validators = { older: renewed(() => withFormats(new Ajv(judged))), newer: renewed(() => withFormats(new Ajv2020(judged))) };
  // A plugin's schemas come back when it is checked, set to work and configured; compiling one takes a millisecond or two.
  const known = new WeakMap<JsonObject, ReturnType<Compile>>();
  const compile: Compile = (pluginId, toolId, part, { $schema, ...schema }) => {
    const draft = typeof $schema === 'string' && /draft-0[4-7]/.test($schema) ? 'older' : 'newer';
    const validate = compileSchema(judges[draft](), validators[draft](), schema, (error) => invalid(pluginId, toolId, part, error));
    return (input) => {
      const hostile = hostileShape(input, '', 0);
      if (hostile) return [hostile];
      if (validate(input)) return [];
      return [...new Set((validate.errors ?? []).map(describeError))].slice(0, MAX_PROBLEMS);
    };
  };
  return (pluginId, toolId, part, schema) => {
    const check = known.get(schema) ?? compile(pluginId, toolId, part, schema);
    known.set(schema, check);
    return check;
  };
}

function onDemand<Made>(make: () => Made): () => Made {
  let made: Made | undefined;
  return () => (made ??= make());
}

/** A validator keeps all that it has ever compiled. One that is given up after so many goes with the last of its checks, as plugins come and go. */
function renewed<Made>(make: () => Made): () => Made {
  let current = onDemand(make);
  let uses = 0;
  return () => {
    uses += 1;
    if (uses % MOST_SCHEMAS === 0) current = onDemand(make);
    return current();
  };
}

function withFormats(ajv: Ajv): Ajv {
  formats.default(ajv);
  return ajv;
}

function compileSchema(judge: Ajv, validator: Ajv, schema: JsonObject, invalidBy: (error: Error) => Error): ValidateFunction {
  try {
    void judge.validateSchema(schema, true);
    return validator.compile(schema);
  } catch (error) {
    throw invalidBy(error as Error);
  }
}

function invalid(pluginId: string, toolId: string, part: Part, error: Error): Error {
  const which = {
    parameters: `the parameters of tool "${toolId}" are`,
    result: `the resultSchema of tool "${toolId}" is`,
    configuration: 'its configSchema is',
  };
  const problem = `${which[part]} not a valid JSON Schema (${error.message})`;
  return failure('PLUGIN_INVALID', { plugin: JSON.stringify(pluginId), problem, fix: 'Mend the schema; drafts 7 and 2020-12 are known' }, error);
}

/** What no schema should have to think of: keys that change a prototype when copied, and depth that overflows a stack. */
function hostileShape(value: Json, path: string, depth: number): string | undefined {
  if (value === null || typeof value !== 'object') return undefined;
  if (depth > MAX_DEPTH) return `${path.slice(0, MAX_VALUE_LENGTH)}…: nested deeper than ${MAX_DEPTH} levels`;
  for (const [key, inner] of Object.entries(value)) {
    if (key === '__proto__') return `${path}/__proto__: this key is not accepted`;
    const problem = hostileShape(inner, `${path}/${key}`, depth + 1);
    if (problem) return problem;
  }
  return undefined;
}

function describeError(error: ErrorObject): string {
  const { instancePath, keyword, params, data } = error;
  const at = instancePath || '/';
  switch (keyword) {
    case 'type':
      return `${at}: expected ${[params['type']].flat().join(' or ')}, got ${typeName(data)}`;
    case 'required':
      return `${instancePath}/${params['missingProperty']}: missing`;
    case 'additionalProperties':
      return `${instancePath}/${params['additionalProperty']}: not known${knownKeys(error)}`;
    case 'enum':
      return `${at}: expected one of ${(params['allowedValues'] as Json[]).map((value) => JSON.stringify(value)).join(', ')}, got ${shorten(data)}`;
    case 'const':
      return `${at}: expected ${JSON.stringify(params['allowedValue'])}, got ${shorten(data)}`;
    default:
      return `${at}: ${error.message ?? keyword}, got ${shorten(data)}`;
  }
}

function knownKeys(error: ErrorObject): string {
  const properties = (error.parentSchema as { properties?: JsonObject } | undefined)?.properties;
  return properties ? ` (known: ${Object.keys(properties).join(', ')})` : '';
}

function typeName(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function shorten(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length <= MAX_VALUE_LENGTH ? text : `${text.slice(0, MAX_VALUE_LENGTH)}…`;
}

import { fillInEnvironment } from '../../common/fill-in-environment.ts';
import type { Json, JsonObject } from '../../contracts/json.ts';
import { isOwnVariable } from '../../platform/own-variables.ts';
import { createCompiler, type Compile } from '../schemas/validate-arguments.ts';

const REFERENCE = /^\$\{env\.[A-Za-z_][A-Za-z0-9_]*\}$/;
const ANY_REFERENCE = /\$\{env\.[A-Za-z_][A-Za-z0-9_]*\}/;

/** A configuration with its secrets filled in, or what is wrong with it. */
export type PreparedConfig = { config: JsonObject } | { problems: string[] };

/**
 * Makes the configuration that a plugin receives: fills in the defaults of the schema and the values of variables, and checks the result.
 * Problems name the path and never a secret's value.
 * @param compile one that is used for other schemas too; to make one takes longer than everything else here
 */
export async function prepareConfig(
  pluginId: string,
  schema: JsonObject | undefined,
  written: JsonObject,
  read: (name: string) => string | undefined,
  compile: Compile = createCompiler(),
): Promise<PreparedConfig> {
  const problems = await problemsAsWritten(pluginId, schema, written, compile);
  if (problems.length > 0) return { problems };
  try {
    const missing = (name: string, path: PropertyKey[]) =>
      new Error(`/${path.join('/')}: the variable ${name} ${isOwnVariable(name) ? 'is one that no plugin may have' : 'is not set for the worker'}`);
    const filled = fillInEnvironment(written, (name) => (isOwnVariable(name) ? undefined : read(name)), missing);
    const config = withDefaults(schema, filled as JsonObject);
    const found = schema ? await compile(pluginId, 'config', 'configuration', withoutSecrets(schema))(config) : [];
    return found.length > 0 ? { problems: found.map((problem) => unquoted(problem, pathsOfReferences(written, ''))) } : { config };
  } catch (error) {
    return { problems: [(error as Error).message] };
  }
}

/** The problems of a configuration that can be found without the variables of the worker. */
export async function problemsAsWritten(
  pluginId: string,
  schema: JsonObject | undefined,
  written: JsonObject,
  compile: Compile = createCompiler(),
): Promise<string[]> {
  if (!schema) return Object.keys(written).map((key) => `/${key}: this plugin takes no configuration`);
  const plain = plainSecrets(schema, written, '');
  if (plain.length > 0) return plain;
  const check = compile(pluginId, 'config', 'configuration', withoutSecrets(schema));
  // The value behind a reference is not known here: the worker checks it.
  const unknown = pathsOfReferences(written, '');
  return (await check(withDefaults(schema, written))).filter((problem) => !unknown.some((path) => problem.startsWith(`${path}:`)));
}

function plainSecrets(schema: JsonObject, value: Json | undefined, path: string): string[] {
  if (schema['x-secret'] === true) {
    const isReference = value === undefined || (typeof value === 'string' && REFERENCE.test(value));
    return isReference ? [] : [`${path}: it is a secret, and those are not kept in plain text; set a variable for the worker and write \${env.ITS_NAME}`];
  }
  if (Array.isArray(value)) return value.flatMap((item, index) => plainSecrets(asSchema(schema['items']), item, `${path}/${index}`));
  if (value === null || typeof value !== 'object') return [];
  const properties = asSchema(schema['properties']);
  return Object.entries(value).flatMap(([key, inner]) => plainSecrets(asSchema(properties[key] ?? schema['additionalProperties']), inner, `${path}/${key}`));
}

/** Removes the value of a variable from a problem. */
function unquoted(problem: string, references: string[]): string {
  return references.some((path) => problem.startsWith(`${path}:`)) ? problem.replace(/, got .*$/s, '') : problem;
}

function asSchema(value: Json | undefined): JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? value : {};
}

/** A message may quote a value that does not match. Of a secret only the type is checked, so that no message quotes it. */
function withoutSecrets(schema: JsonObject): JsonObject {
  const plain =
    schema['x-secret'] === true
      ? (({ type, description }) => ({ ...(type !== undefined && { type }), ...(description !== undefined && { description }) }))(schema)
      : schema;
  return Object.fromEntries(Object.entries(plain).map(([key, value]) => [key, Array.isArray(value) ? value.map(inner) : inner(value)]));
}

function inner(value: Json): Json {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? withoutSecrets(value) : value;
}

function pathsOfReferences(value: Json, path: string): string[] {
  if (typeof value === 'string') return ANY_REFERENCE.test(value) ? [path] : [];
  if (value === null || typeof value !== 'object') return [];
  return Object.entries(value).flatMap(([key, item]) => pathsOfReferences(item, `${path}/${key}`));
}

function withDefaults(schema: JsonObject | undefined, value: JsonObject): JsonObject {
  const filled = { ...value };
  for (const [key, property] of Object.entries(asSchema(schema?.['properties']))) {
    const { default: byDefault, ...rest } = asSchema(property);
    const given = filled[key] ?? byDefault;
    if (given === undefined) continue;
    filled[key] = rest['type'] === 'object' && typeof given === 'object' && !Array.isArray(given) && given !== null ? withDefaults(rest, given) : given;
  }
  return filled;
}

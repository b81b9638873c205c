import { Ajv, type ErrorObject, type Options } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { Json, JsonObject } from '../../contracts/json.ts';
import type { SchemaDraft } from './schema-draft.ts';
import { preview, previewList } from './preview.ts';

/** Gives the problems of a value, each with its path; none if the value is valid. */
export type Evaluate = (value: Json) => Iterable<string>;

/**
 * `ownProperties`: an inherited property never satisfies a schema. `strict` is off because schemas of other systems have their own keywords. `optimize` is off
 * because it takes about a third of the compile time and does not make checks noticeably faster.
 */
const OPTIONS: Options = { ownProperties: true, allErrors: true, strict: false, verbose: true, logger: false, code: { optimize: false } };

/**
 * Compiles a schema with an Ajv instance of its own: schemas of two tools may have the same `$id`, and the compiled code is freed with its last user.
 * @throws an Error for what Ajv cannot compile, such as a reference to something outside of the schema
 */
export function compileWithAjv(schema: JsonObject | boolean, dialect: SchemaDraft): Evaluate {
  const ajv = makeAjv(dialect, { validateSchema: false });
  const validate = ajv.compile(schema);
  return function* problemsOf(value) {
    if (validate(value)) return;
    for (const error of validate.errors ?? []) yield describeError(error);
  };
}

/** Makes a function that throws if a schema does not fit the meta-schema of its draft. Meta-schemas take long to compile, so use it for many schemas. */
export function createJudge(): (schema: JsonObject | boolean, dialect: SchemaDraft) => void {
  const judges = new Map<SchemaDraft, Ajv>();
  return (schema, dialect) => {
    const judge = judges.get(dialect) ?? makeAjv(dialect, {});
    judges.set(dialect, judge);
    void judge.validateSchema(schema, true);
  };
}

function makeAjv(dialect: SchemaDraft, options: Options): Ajv {
  const all = { ...OPTIONS, ...options };
  // Draft 7 and older drafts ignore keywords beside `$ref`.
  const ajv = dialect === '2020-12' ? new Ajv2020(all) : dialect === '2019-09' ? new Ajv2019(all) : new Ajv({ ...all, ignoreKeywordsWithRef: true });
  formats.default(ajv);
  return ajv;
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
      return `${at}: expected one of ${previewList(params['allowedValues'] as Json[])}, got ${preview(data)}`;
    case 'const':
      return `${at}: expected ${preview(params['allowedValue'])}, got ${preview(data)}`;
    default:
      return `${at}: ${error.message ?? keyword}, got ${preview(data)}`;
  }
}

function knownKeys(error: ErrorObject): string {
  const properties = (error.parentSchema as { properties?: JsonObject } | undefined)?.properties;
  return properties ? ` (known: ${previewList(Object.keys(properties), String)})` : '';
}

export function typeName(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

import { compileSchema, type JsonError } from 'json-schema-library';
import { remotes as documents } from 'json-schema-library/remotes';
import type { JsonObject } from '../../contracts/json.ts';
import { typeName, type Evaluate } from './compile-with-ajv.ts';
import type { SchemaDraft } from './schema-draft.ts';
import { preview, previewList } from './preview.ts';

const IDS: Record<SchemaDraft, string> = {
  'draft-04': 'http://json-schema.org/draft-04/schema#',
  'draft-06': 'http://json-schema.org/draft-06/schema#',
  'draft-07': 'http://json-schema.org/draft-07/schema#',
  '2019-09': 'https://json-schema.org/draft/2019-09/schema',
  '2020-12': 'https://json-schema.org/draft/2020-12/schema',
};

/** The meta-schemas of the drafts, which any schema may refer to. The one of draft 4 has `id` instead of `$id` and cannot be registered. */
const remotes = documents.filter(({ $id }) => typeof $id === 'string');

/**
 * Compiles a schema with an engine that follows the drafts exactly, including dynamic references and unevaluated parts. Its checks take about ten times as
 * long as those of Ajv.
 * @throws an Error for a reference to something outside of the schema
 */
export function compileExactly(schema: JsonObject | boolean, dialect: SchemaDraft): Evaluate {
  const given = typeof schema === 'boolean' ? schema : { ...schema, $schema: IDS[dialect] };
  const node = compileSchema(given, { remotes, throwOnInvalidRef: true, throwOnInvalidSchema: true });
  return function* problemsOf(value) {
    const { valid, errors } = node.validate(value);
    if (valid) return;
    for (const error of errors) yield describeError(error);
  };
}

/** Uses the wording of the problems that Ajv finds, as far as both engines report the same. */
function describeError({ code, message, data }: JsonError): string {
  const { pointer, value, key, expected, received, values } = data as Record<string, unknown>;
  const path = typeof pointer === 'string' ? pointer.replace(/^#/, '') : '';
  const at = path || '/';
  switch (code) {
    case 'type-error':
      return `${at}: expected ${[expected].flat().map(String).join(' or ')}, got ${typeof received === 'string' ? received : typeName(value)}`;
    case 'required-property-error':
      return `${path}/${String(key)}: missing`;
    case 'no-additional-properties-error':
    case 'unevaluated-property-error':
      return `${at}: not known`;
    case 'enum-error':
      return `${at}: expected one of ${previewList(values as string[])}, got ${preview(value)}`;
    case 'const-error':
      return `${at}: expected ${preview(expected)}, got ${preview(value)}`;
    default:
      return `${at}: ${message.slice(0, 300)}`;
  }
}

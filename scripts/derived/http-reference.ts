import type { Document, Media, Operation, Schema } from '../../src/api/description/document.ts';

const NOTE = '<!-- Made of the OpenAPI document by scripts/generate-schemas.ts. -->';

/** The reference of the HTTP API as Markdown: what the OpenAPI document says, for people. */
export function httpReference(document: Document): string {
  const { tags = [], components } = document;
  return [
    '# Reference of the HTTP API',
    NOTE,
    'Each route with what it takes, what it answers with and the errors that it gives. [The guide](../guides/http.md) says how they work together, and [errors](../errors.md) has the texts of all errors. ' +
      'A running service has the same at `/docs`, and for programs at `/openapi.json`.',
    ...tags.flatMap(({ name, description = '' }) => ofTag(document, name, description)),
    '## Shapes',
    ...Object.entries(components.schemas).flatMap(([name, schema]) => [`### ${name}`, fieldTable(schema, 'field')]),
  ]
    .filter((block) => block !== '')
    .join('\n\n')
    .concat('\n');
}

function ofTag({ paths }: Document, tag: string, description: string): string[] {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { tags = [] }]) => tags.includes(tag))
      .map(([method, operation]) => ofOperation(`${method.toUpperCase()} ${path}`, operation)),
  );
  return operations.length === 0 ? [] : [`## ${tag}`, `${description}.`, ...operations.flat()];
}

function ofOperation(name: string, { summary = '', description, parameters = [], requestBody, responses }: Operation): string[] {
  const body = requestBody?.content['application/json'];
  return [
    `### ${name}`,
    [`${summary}.`, description].filter(Boolean).join(' '),
    table(
      ['parameter', 'in', 'type', ''],
      parameters.map((one) => [`\`${one.name}\``, one.in, typeOf(one.schema ?? {}), sentence(one.description ?? one.schema?.description, one.required)]),
    ),
    body?.schema ? fieldTable(body.schema, `field of the body${requestBody?.required === false ? ', which may be left out' : ''}`) : '',
    exampleOf('Request', body),
    ...Object.entries(responses).flatMap(([status, { content = {} }]) =>
      Object.entries(content).map(([mediaType, media]) =>
        exampleOf(`${status}, \`${mediaType}\``, mediaType === 'application/problem+json' ? undefined : media),
      ),
    ),
    errorsOf(responses),
  ];
}

function errorsOf(responses: Operation['responses']): string {
  const problems = Object.entries(responses).filter(([, { content = {} }]) => content['application/problem+json'] !== undefined);
  return problems.length === 0 ? '' : `Errors: ${problems.map(([status, { description }]) => `${status} ${description}`).join('; ')}.`;
}

function exampleOf(what: string, media: Media | undefined): string {
  if (media?.example === undefined) return '';
  const { example } = media;
  const [kind, text] = typeof example === 'string' ? ['text', example.trim()] : ['json', JSON.stringify(example, undefined, 2)];
  return `${what}:\n\n\`\`\`${kind}\n${text}\n\`\`\``;
}

function fieldTable({ properties = {}, required = [] }: Schema, head: string): string {
  return table(
    [head, 'type', ''],
    Object.entries(properties).map(([name, schema]) => [`\`${name}\``, typeOf(schema), sentence(schema.description, required.includes(name))]),
  );
}

function table(head: string[], rows: string[][]): string {
  if (rows.length === 0) return '';
  const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`);
  return lines.join('\n');
}

function sentence(description = '', isRequired = false): string {
  return [isRequired ? 'Required.' : '', description].filter(Boolean).join(' ');
}

function typeOf(schema: Schema): string {
  const { $ref, enum: values, const: only, anyOf, oneOf, items, type } = schema;
  if ($ref !== undefined) {
    const name = $ref.split('/').at(-1) ?? '';
    return `[${name}](#${name.toLowerCase()})`;
  }
  if (only !== undefined) return `\`${JSON.stringify(only)}\``;
  if (values) return values.map((value) => `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``).join(', ');
  const choices = anyOf ?? oneOf;
  if (choices) return choices.map(typeOf).join(' or ');
  if (items) return `list of ${typeOf(items)}`;
  return [type ?? 'any JSON'].flat().join(' or ');
}

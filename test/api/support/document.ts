import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Api } from '../../../src/api/http/route-parts.ts';
import type { Document, Operation } from '../../../src/api/description/document.ts';
import type { Json } from '../../../src/contracts/json.ts';

/** A route as the OpenAPI document has it. */
export interface Route {
  method: string;
  path: string;
  operation: Operation;
}

export interface Answer {
  status: number;
  mediaType: string;
  text: string;
}

export function documentOf(api: Api): Document {
  return structuredClone(api.swagger()) as unknown as Document;
}

export function routesOf({ paths }: Document): Route[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
}

/** Compiles each schema once for all that refer to it, and does not make its code shorter: most schemas check one or two answers. */
export function createSchemaCheck(): Ajv2020 {
  return new Ajv2020({ strict: false, validateFormats: false, inlineRefs: false, code: { optimize: false } });
}

/** Says what is wrong with an answer, by what the document says of the route; undefined when it fits. */
export type AnswerCheck = (route: Route, answer: Answer) => string | undefined;

export function createAnswerCheck(document: Document): AnswerCheck {
  const ajv = createSchemaCheck();
  ajv.addSchema(document, 'api');
  return ({ method, path }, { status, mediaType, text }) => {
    const { responses = {} } = document.paths[path]?.[method.toLowerCase()] ?? {};
    const named = nameIn(responses, String(status), 'default');
    const answers = responses[named];
    if (!answers) return `the document does not name the status ${status}`;
    if (!answers.content) return text === '' ? undefined : 'it has a body, and the document names none';
    const kind = nameIn(answers.content, mediaType, '*/*');
    const { schema } = answers.content[kind] ?? {};
    if (!schema) return `the document does not name ${mediaType} for ${status}`;
    const value = mediaType.endsWith('json') ? (JSON.parse(text) as Json) : text;
    const pointer = ['paths', path, method.toLowerCase(), 'responses', named, 'content', kind, 'schema'].map(escaped).join('/');
    return ajv.validate(`api#/${pointer}`, value) ? undefined : ajv.errorsText();
  };
}

/** The name itself, or the one for all that have none. */
function nameIn(all: object, name: string, others: string): string {
  return Object.hasOwn(all, name) ? name : others;
}

function escaped(part: string): string {
  return encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'));
}

/** The path with its parameters filled in, by `names`, or else by a text that names nothing. */
export function filledPath(path: string, names: Record<string, string>): string {
  const [, , kind, , part] = path.split('/');
  return path.replaceAll(/\{(\w+|\*)\}/g, (_, name: string) =>
    encodeURIComponent(names[`${kind}.${part}.${name}`] ?? names[`${part}.${name}`] ?? names[`${kind}.${name}`] ?? names[name] ?? 'nothing'),
  );
}

/** The body that the document has as an example, with some fields of this installation. */
export function exampleBody({ operation: { requestBody } }: Route, fields: Record<string, Json> = {}): Record<string, Json> | undefined {
  const example = requestBody?.content['application/json']?.example;
  if (typeof example !== 'object' || example === null || Array.isArray(example)) return undefined;
  return { ...example, ...Object.fromEntries(Object.entries(fields).filter(([name]) => Object.hasOwn(example, name))) };
}

import { ElicitRequestParamsSchema } from '@modelcontextprotocol/core';
import type { z } from 'zod';
import { isObject, type Json, type JsonObject } from '../../../../contracts/json.ts';
import type { Question } from '../../../../contracts/questions/question.ts';
import { cutMiddle, visibleLine, visibleText } from '../../../../contracts/visible-text.ts';

type Form = Extract<z.infer<typeof ElicitRequestParamsSchema>, { requestedSchema: unknown }>['requestedSchema'];

const LONGEST_MESSAGE = 2_000;
const LONGEST_LABEL = 500;
const LONGEST_URL = 2_000;
/** As JSON. A question is a part of the status of its conversation. */
const LONGEST_FORM = 8_000;
const MOST_FIELDS = 50;
/** Texts for people. All others are given back to the server as they are, so they are not changed. */
const LABELS = new Set(['title', 'description']);

/**
 * A question as it is shown to a person. It is the server's, and hostile until shown otherwise: texts are bounded, characters that a person cannot see become
 * escapes, and a form that contains such characters where it would not be the same with an escape is refused.
 * @throws an Error that says to the server what is wrong with it
 */
export function readQuestion(server: string, given: unknown): Question {
  // From 2026-07-28 on, pages have no id, which is not used here.
  const { success, data } = ElicitRequestParamsSchema.safeParse(isObject(given) ? { elicitationId: '', ...given } : given);
  if (!success) throw new Error('it is neither a form of texts, numbers, truth values and choices nor a url');
  const message = cutMiddle(visibleText(data.message), LONGEST_MESSAGE);
  if ('url' in data) return { server, message, url: addressOf(data.url) };
  const schema = formOf(data.requestedSchema);
  return { server, message, schema, answer: suggestedBy(schema) };
}

function addressOf(given: string): string {
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:') throw new Error('its url is not an http or https address');
  if (url.username !== '' || url.password !== '') throw new Error('its url contains a user or a password, which could be mistaken for a host');
  // As the browser reads it, and without letters that look like others.
  if (url.href.length > LONGEST_URL) throw new Error(`its url is longer than ${LONGEST_URL} characters`);
  return url.href;
}

function formOf({ properties, required }: Form): JsonObject {
  const form: JsonObject = { type: 'object', properties: properties as JsonObject, ...(required && { required }), additionalProperties: false };
  const size = JSON.stringify(form).length;
  if (size > LONGEST_FORM) throw new Error(`its form has ${size} characters, and ${LONGEST_FORM} are allowed`);
  const fields = Object.keys(properties).length;
  if (fields > MOST_FIELDS) throw new Error(`its form has ${fields} fields, and ${MOST_FIELDS} are allowed`);
  return asShown(form) as JsonObject;
}

function asShown(value: Json, key = ''): Json {
  if (typeof value === 'string') return LABELS.has(key) ? cutMiddle(visibleLine(value), LONGEST_LABEL) : checked(value);
  if (Array.isArray(value)) return value.map((each) => asShown(each));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [checked(name), asShown(inner, name)]));
}

function checked(text: string): string {
  if (visibleLine(text) !== text)
    throw new Error(`its form contains ${JSON.stringify(visibleLine(text.slice(0, 100)))}, which has characters that people cannot see`);
  return text;
}

function suggestedBy({ properties }: JsonObject): JsonObject {
  const suggested = Object.entries(properties as JsonObject).flatMap(([name, field]) =>
    isObject(field) && field['default'] !== undefined ? [[name, field['default']] as const] : [],
  );
  return Object.fromEntries(suggested);
}

import { showValue } from '../../common/show-value.ts';
import { isObject, type Json, type JsonObject } from '../../contracts/json.ts';
import { excessOf } from '../../contracts/foreign-json.ts';
import { ProtocolBreach } from './protocol-breach.ts';
import { PROTOCOL, type ProtocolField, type Fields, type OperationFields } from './protocol.ts';
import type { Message, Operation, Part, RecordOf } from './protocol-types.ts';

type Table = ReadonlyMap<string, ProtocolField>;

const RECORDS: Record<string, Fields> = PROTOCOL.records;
const OPERATIONS: Record<string, OperationFields> = PROTOCOL.operations;
/** Lone surrogates except U+DC80 to U+DCFF, with which Python represents invalid bytes of a file name. */
const HALF_CHARACTER = /[\u{D800}-\u{DC7F}\u{DD00}-\u{DFFF}]/u;
const ID = idPattern(PROTOCOL.id);
const TABLES = new Map(
  Object.entries(OPERATIONS).flatMap(([operation, parts]) =>
    Object.entries(parts).map(([part, fields]: [string, Fields]) => [`${operation}.${part}`, spread(fields)] as const),
  ),
);
const FAILURE = spread(PROTOCOL.records.failure);

/** Returns what is wrong with a message; undefined when it is valid. */
export function findProblem(operation: Operation, part: Part, message: JsonObject): string | undefined {
  const table = TABLES.get(`${operation}.${part}`);
  return table ? check(table, message, operation) : `${operation} has no ${part}`;
}

/** Parses an untrusted message of the supervisor. Throws a `ProtocolBreach` that says what is wrong. */
export function parseMessage<O extends Operation, P extends Part>(operation: O, part: P, payload: Buffer): Message<O, P> {
  const message = parseJson(payload);
  let problem: string | undefined;
  const fits = (_given: unknown): _given is Message<O, P> => (problem = findProblem(operation, part, message)) === undefined;
  if (fits(message)) return message;
  throw new ProtocolBreach(problem);
}

/** The same for an error frame. */
export function parseFailure(payload: Buffer): RecordOf<'failure'> {
  const message = parseJson(payload);
  const problem = check(FAILURE, message, 'error');
  if (problem !== undefined) throw new ProtocolBreach(problem);
  return message as RecordOf<'failure'>;
}

function parseJson(payload: Buffer): JsonObject {
  const text = payload.toString('utf8');
  const excess = excessOf(text);
  if (excess !== undefined) throw new ProtocolBreach(`a message that ${excess}`);
  let message: Json;
  try {
    message = JSON.parse(text) as Json;
  } catch {
    throw new ProtocolBreach('a message that is not JSON');
  }
  if (!isObject(message)) throw new ProtocolBreach('a message that is not an object');
  return message;
}

/** Letters and digits; marks too, except as the first character. */
function idPattern({ marks, maxLength }: { marks: string; maxLength: number }): RegExp {
  const escaped = marks.replaceAll(/[\\\]^-]/g, String.raw`\$&`);
  return new RegExp(`^[A-Za-z0-9][A-Za-z0-9${escaped}]{0,${maxLength - 1}}$`);
}

function spread(fields: Fields): Table {
  const table = new Map<string, ProtocolField>();
  for (const [name, field] of Object.entries(fields)) {
    if ('type' in field) table.set(name, field);
    else for (const record of field) for (const entry of spread(RECORDS[record] ?? {})) table.set(...entry);
  }
  return table;
}

function check(table: Table, message: JsonObject, where: string): string | undefined {
  for (const name of Object.keys(message)) if (!table.has(name)) return `${where} has a field that the protocol does not know`;
  for (const [name, field] of table) {
    if (!Object.hasOwn(message, name)) {
      if (field.optional !== true) return `${where}.${name} is missing`;
    } else if (!isValid(message[name], field)) return `${where}.${name} is ${showValue(message[name])}, and has to be ${describe(field)}`;
  }
  return undefined;
}

/** Describes what the protocol accepts in a field. */
function describe({ type, min = 0, max = Number.MAX_SAFE_INTEGER, maxLength = 0, maxItems = 0, values = [], record = '' }: ProtocolField): string {
  const words: Record<string, string> = {
    id: `an id: a letter or digit, then letters, digits or ${PROTOCOL.id.marks}, ${PROTOCOL.id.maxLength} characters at most`,
    text: `a text of at most ${maxLength} characters, without NUL`,
    integer: `a whole number from ${min} to ${max}`,
    boolean: 'true or false',
    choice: `one of ${values.join(', ')}`,
    texts: `an array of 1 to ${maxItems} texts of at most ${maxLength} characters each, without NUL`,
    textMap: `an object of at most ${maxItems} texts of at most ${maxLength} characters each, without NUL`,
    record: `a record "${record}"`,
  };
  return words[type] ?? `of type ${type}`;
}

function isValid(value: unknown, field: ProtocolField): boolean {
  const valid = CHECKS[field.type];
  return valid !== undefined && valid(value, field);
}

const CHECKS: Record<string, (value: unknown, field: ProtocolField) => boolean> = {
  id: (value) => typeof value === 'string' && ID.test(value),
  text: isText,
  integer: (value, { min = 0, max = Number.MAX_SAFE_INTEGER }) => Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max,
  boolean: (value) => typeof value === 'boolean',
  choice: (value, { values = [] }) => typeof value === 'string' && values.includes(value),
  texts: (value, field) => Array.isArray(value) && value.length > 0 && value.length <= (field.maxItems ?? 0) && value.every((item) => isText(item, field)),
  textMap: (value, field) =>
    isObject(value) &&
    Object.keys(value).length <= (field.maxItems ?? 0) &&
    Object.entries(value).every(([name, item]) => name !== '' && !name.includes('=') && isText(name, field) && isText(item, field)),
  object: isObject,
  record: (value, { record = '' }) => isObject(value) && check(spread(RECORDS[record] ?? {}), value, record) === undefined,
};

/** Counts characters as Python does. */
function isText(value: unknown, { maxLength = 0 }: ProtocolField): boolean {
  if (typeof value !== 'string' || value.length > 2 * maxLength || value.includes('\0') || HALF_CHARACTER.test(value)) return false;
  return value.length <= maxLength || Array.from(value).length <= maxLength;
}

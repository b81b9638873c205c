import { isBlob, nameOfMedia } from '../../contracts/attachments/media.ts';
import { failure } from '../../contracts/errors.ts';
import type { Json } from '../../contracts/json.ts';
import { lostInJson } from '../../contracts/plugins/lost-in-json.ts';
import type { ContentPart } from '../../contracts/transcript.ts';
import type { ToolKind } from '../../plugins/api/define-plugin.ts';
import type { RegisteredTool } from '../../plugins/registry/registry.ts';
import { boundedParts, MOST_PARTS } from './bounded-parts.ts';
import { cutText, MAX_RESULT_BYTES } from './cut-text.ts';

/** A tool's answer in the form that the model gets. */
export interface ResultContent {
  content: ContentPart[];
  isError: boolean;
}

/** Largest image or file in a result, in characters of base 64. */
const MAX_DATA_LENGTH = 20_000_000;
/** Texts of a result that are cut each by itself. */
const MOST_CUT = 16;

/** As `toContent`, for a tool whose kind and schema limit what it may return. An error result is always accepted. */
export async function resultContentOf(tool: Pick<RegisteredTool, 'id' | 'kind' | 'resultProblemsOf'>, result: unknown): Promise<ResultContent> {
  const content = toContent(tool.id, result);
  if (content.isError) return content;
  const given = isContentResult(result) ? 'content parts' : typeName(result);
  const wanted = WANTED[tool.kind];
  if (wanted !== undefined && given !== wanted) return invalid(tool.id, `${given}; a tool of kind "${tool.kind}" returns ${wanted}`);
  const problems = given === 'content parts' ? [] : await tool.resultProblemsOf(result as Json);
  if (problems.length > 0) return invalid(tool.id, `what its resultSchema does not allow: ${problems.join('; ')}`);
  // An empty note in the transcript would confuse the model.
  return tool.kind === 'behavior' && resultTextOf(content.content).trim() === '' ? { ...content, content: [{ type: 'text', text: 'Done.' }] } : content;
}

/** Turns any return value of a tool into content; a value of a wrong shape becomes an error result that names the plugin's mistake. */
export function toContent(tool: string, result: unknown): ResultContent {
  if (typeof result === 'string') return { content: [{ type: 'text', text: result }], isError: false };
  if (isContentResult(result)) {
    const problem = problemOf(result);
    if (problem) return invalid(tool, problem);
    const content = boundedParts(result.content as ContentPart[]);
    if (content.length > MOST_PARTS) return invalid(tool, `${content.length} content parts; at most ${MOST_PARTS} are allowed`);
    return { content, isError: result.isError === true };
  }
  if (result === undefined) return invalid(tool, 'nothing; a tool returns a text, a JSON value or content parts');
  const { text, lost } = asJson(result) ?? {};
  if (text === undefined) return invalid(tool, `a ${typeof result} that is not JSON`);
  if (lost !== undefined) return invalid(tool, `an object of the kind ${lost}, of which JSON keeps nothing; return an object, a list or a text`);
  return { content: [{ type: 'text', text }], isError: false };
}

/** An error result with a text of its own. */
export function errorContent(text: string): ResultContent {
  return { content: [{ type: 'text', text }], isError: true };
}

/** All text of a result, for the events. */
export function resultTextOf(content: ContentPart[]): string {
  return content.map((part) => (part.type === 'text' ? part.text : nameOfMedia(part))).join('\n');
}

/** Cuts long texts to head and tail. `keep` stores the whole text and returns its path, or undefined when it cannot be stored. */
export async function shorten(content: ContentPart[], keep: (whole: string) => Promise<string | undefined>): Promise<ContentPart[]> {
  const texts = textsIn(content);
  const total = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (total <= MAX_RESULT_BYTES) return content;
  const path = await keep(texts.join('\n'));
  const where = path ? `the whole is in ${path}` : 'the whole was not kept';
  // Of very many texts, the notes about the cuts would be longer than what is left.
  const parts = texts.length > MOST_CUT ? withOneText(content) : content;
  const share = Math.floor(MAX_RESULT_BYTES / textsIn(parts).length);
  const cut = (text: string) => cutText(text, share, (omitted) => `\n[… ${omitted} bytes left out; ${where} …]\n`);
  return parts.map((part) => (part.type === 'text' ? { type: 'text', text: cut(part.text) } : part));
}

function textsIn(content: readonly ContentPart[]): string[] {
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : []));
}

function withOneText(content: readonly ContentPart[]): ContentPart[] {
  return [{ type: 'text', text: textsIn(content).join('\n') }, ...content.filter(({ type }) => type !== 'text')];
}

/** What a tool of a kind returns; kinds that are not listed may return anything. */
const WANTED: Partial<Record<ToolKind, string>> = { agent: 'a text', behavior: 'a text', multimodal_agent: 'content parts' };

function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return { string: 'a text', object: 'an object' }[typeof value as string] ?? `a ${typeof value}`;
}

function invalid(tool: string, problem: string): ResultContent {
  return errorContent(failure('TOOL_RESULT_INVALID', { tool, problem }).message);
}

/** Keys beside an empty list of parts. */
const OF_PARTS = new Set(['content', 'isError', 'structuredContent', '_meta']);

/** Other objects with a list that is called `content` are JSON. An empty list says nothing about that: other keys do. */
export function isContentResult(result: unknown): result is { content: { type: unknown }[]; isError?: unknown } {
  const content = (result as { content?: unknown } | null)?.content;
  if (!Array.isArray(content)) return false;
  const isPart = (part: unknown) => typeof (part as { type?: unknown } | null)?.type === 'string';
  return content.length === 0 ? Object.keys(result as object).every((key) => OF_PARTS.has(key)) : content.every(isPart);
}

function problemOf(result: { content: object[]; isError?: unknown }): string | undefined {
  if (result.isError !== undefined && typeof result.isError !== 'boolean') return '/isError that is no boolean';
  for (const [index, part] of result.content.entries()) {
    const problem = problemOfPart(part as Record<string, unknown>);
    if (problem) return `/content/${index}${problem}`;
  }
  return undefined;
}

export function problemOfPart(part: Record<string, unknown>): string | undefined {
  if (part['blob'] !== undefined) return problemOfStored(part);
  const needed = { text: ['text'], image: ['mediaType', 'data'], file: ['mediaType', 'name', 'data'] }[String(part['type'])];
  if (!needed) return `/type ${JSON.stringify(part['type'])}; known are text, image and file`;
  const missing = needed.find((key) => typeof part[key] !== 'string');
  if (missing) return `/${missing} that is no text`;
  const data = part['data'];
  return typeof data === 'string' && data.length > MAX_DATA_LENGTH ? `/data of ${data.length} characters; at most ${MAX_DATA_LENGTH} are allowed` : undefined;
}

/** Only what the conversation has is given to the model, so that a plugin reaches nothing by naming it. */
function problemOfStored({ type, mediaType, blob, bytes, name }: Record<string, unknown>): string | undefined {
  if (type !== 'image' && type !== 'file') return `/type ${JSON.stringify(type)}; parts with a blob are image or file`;
  if (!isBlob(blob)) return '/blob that is no id of an attachment';
  const isUsual = typeof mediaType === 'string' && typeof bytes === 'number' && (name === undefined || typeof name === 'string');
  return isUsual ? undefined : '/mediaType, bytes or name of another type';
}

function asJson(value: unknown): { text: string; lost: string | undefined } | undefined {
  try {
    const text = JSON.stringify(value) as string | undefined;
    return text === undefined ? undefined : { text, lost: lostInJson(value, text) };
  } catch {
    return undefined;
  }
}

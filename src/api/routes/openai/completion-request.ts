import { z } from 'zod';
import type { Attachment } from '../../../client/attachments/attachment-types.ts';
import { id } from '../../../common/arguments.ts';
import { showValue } from '../../../common/show-value.ts';
import type { RequestedClientTool, RequestedClientTools, ResultOptions } from '../../../client/client-tools/client-tool-types.ts';
import type { Agent } from '../../../contracts/agent.ts';
import { attachmentIn } from '../chat/data-urls.ts';
import { failure } from '../../../contracts/errors.ts';
import { tryParseForeign } from '../../../contracts/foreign-json.ts';
import type { Json, JsonObject } from '../../../contracts/json.ts';

const textPart = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  image_url: z.looseObject({ url: z.string() }).optional(),
  file: z.looseObject({ filename: z.string().optional(), file_data: z.string().optional() }).optional(),
});
const message = z.looseObject({ role: z.string(), content: z.union([z.string(), z.array(textPart)]).nullish(), tool_call_id: z.string().optional() });
const tool = z.looseObject({
  type: z.string(),
  function: z.looseObject({ name: z.string(), description: z.string().nullish(), parameters: z.record(z.string(), z.json()).nullish() }).optional(),
});

/** What a client of OpenAI's chat completions posts. The settings of the model are in the agent's file: those of a request are not used. */
export const completionBody = z
  .looseObject({
    model: id.meta({ description: 'Id of an agent', example: 'captain' }),
    messages: z
      .array(message)
      .min(1)
      .meta({ description: 'Only the last is read: the conversation has those before it', example: [{ role: 'user', content: 'What is the tide at noon?' }] }),
    tools: z
      .array(tool)
      .nullish()
      .meta({
        description: "Client tools: those of the agent's file, whose declarations hold, and others where the agent takes them from requests",
        example: [{ type: 'function', function: { name: 'open_file' } }],
      }),
    stream: z.boolean().nullish(),
    stream_options: z.looseObject({ include_usage: z.boolean().optional() }).nullish(),
    metadata: z.looseObject({ conversation: id.optional().meta({ description: 'As the header x-longshore-conversation', example: 'chat-1' }) }).nullish(),
    user: id.nullish().meta({ description: 'For whom; default `openai`', example: 'user-1' }),
  })
  .meta({ id: 'ChatCompletionRequest' });
export type CompletionBody = z.output<typeof completionBody>;

/** What would change the answer in a way that the service does not have. */
const REFUSED: { field: string; isAsked: (value: unknown) => boolean; fix: string }[] = [
  { field: 'functions', isAsked: hasSome, fix: "The agent's file says which tools it has. Leave this out" },
  { field: 'n', isAsked: (value) => value !== 1, fix: 'A message has one answer. Leave this out' },
  { field: 'response_format', isAsked: (value) => (value as { type?: unknown }).type !== 'text', fix: 'Answers are text. Leave this out' },
  { field: 'logprobs', isAsked: (value) => value !== false, fix: 'Leave this out' },
  { field: 'modalities', isAsked: (value) => JSON.stringify(value) !== '["text"]', fix: 'Answers are text. Leave this out' },
];

/** What a request asks for: an answer to its last message, or to go on with the results of calls. `results` of a message: those right before it. */
export type CompletionRequest =
  | { kind: 'message'; text: string; attachments?: Attachment[]; hasHistory: boolean; results: ResultOptions[] }
  | { kind: 'results'; results: ResultOptions[]; at: string };

/** @throws INVALID_ARGUMENT for what cannot be done, so that nothing is left out in silence */
export function readCompletionRequest(body: CompletionBody): CompletionRequest {
  for (const { field, isAsked, fix } of REFUSED) {
    const value: unknown = body[field];
    if (value !== undefined && value !== null && isAsked(value)) throw refused(`body.${field}`, 'it is not supported', fix);
  }
  const system = body.messages.findIndex(({ role }) => role === 'system' || role === 'developer');
  if (system !== -1) throw refused(`body.messages.${system}`, 'it has instructions', "The agent's file has them. Leave this message out");
  const last = body.messages.at(-1);
  const at = `body.messages.${body.messages.length - 1}`;
  if (last?.role === 'tool') return { kind: 'results', results: resultsIn(body.messages), at };
  if (last?.role !== 'user') throw refused(at, `its role is ${showValue(last?.role)}`, 'Send a message of the user last');
  return { kind: 'message', ...contentOf(last.content ?? '', at), hasHistory: body.messages.length > 1, results: resultsIn(body.messages.slice(0, -1)) };
}

/** Of the messages at the end, which answer the calls of one message of the agent. */
function resultsIn(messages: CompletionBody['messages']): ResultOptions[] {
  const from = messages.findLastIndex(({ role }) => role !== 'tool') + 1;
  return messages.slice(from).map(({ tool_call_id: callId, content }, index) => {
    const at = `body.messages.${from + index}`;
    if (callId === undefined) throw refused(`${at}.tool_call_id`, 'it is missing', 'Name the call that this is the result of');
    return { callId, result: valueOf(textOf(content ?? '', at)) };
  });
}

/** Results are texts here; one that is an object or a list in JSON is that. */
function valueOf(text: string): Json {
  return /^\s*[[{]/.test(text) ? (tryParseForeign(text) ?? text) : text;
}

/** The tools that a request declares beside those of the agent's file; undefined where the agent takes none. @throws INVALID_ARGUMENT */
export function toolsIn({ tools }: CompletionBody, agent: Pick<Agent, 'id' | 'clientTools' | 'clientToolsFromRequests'>): RequestedClientTools | undefined {
  const { clientTools = {}, clientToolsFromRequests = false } = agent;
  const declared = (tools ?? []).flatMap(({ function: given = { name: '' } }, index) => {
    if (Object.hasOwn(clientTools, given.name)) return [];
    if (clientToolsFromRequests && given.name !== '') return [[given.name, declarationOf(given)] as const];
    const known = Object.keys(clientTools).join(', ') || 'none';
    const fix = `Leave this out, or declare it under "clientTools" in the agent's file; those of ${agent.id}: ${known}`;
    throw refused(`body.tools.${index}`, `${showValue(given.name)} is no client tool of the agent`, fix);
  });
  return clientToolsFromRequests ? Object.fromEntries(declared) : undefined;
}

function declarationOf({ name, description, parameters }: NonNullable<z.output<typeof tool>['function']>): RequestedClientTool {
  return { description: description || `The tool ${name} of the client.`, ...(parameters && { parameters: parametersOf(parameters) }) };
}

/** Some clients leave out what the schema of all parameters has to say. */
function parametersOf(parameters: JsonObject): JsonObject {
  return { type: 'object', ...parameters };
}

/** Images and files of a message of the user. */
function contentOf(content: string | z.output<typeof textPart>[], at: string): { text: string; attachments?: Attachment[] } {
  if (typeof content === 'string') return { text: content };
  const attachments: Attachment[] = [];
  const texts = content.filter((part) => {
    const number = attachments.length + 1;
    if (part.type === 'image_url') attachments.push(attachmentIn(at, part.image_url?.url, { name: `image-${number}` }));
    else if (part.type === 'file') attachments.push(attachmentIn(at, part.file?.file_data, { name: part.file?.filename ?? `file-${number}` }));
    else return true;
    return false;
  });
  return { text: textOf(texts, at, 'Send texts, images (image_url) and files (file) only'), ...(attachments.length > 0 && { attachments }) };
}

function textOf(content: string | z.output<typeof textPart>[], at: string, fix = 'Send text only'): string {
  if (typeof content === 'string') return content;
  return content
    .map(({ type, text }) => {
      if (type === 'text' && text !== undefined) return text;
      throw refused(at, `it has a part of the type ${showValue(type)}`, fix);
    })
    .join('\n');
}

function hasSome(value: unknown): boolean {
  return !Array.isArray(value) || value.length > 0;
}

function refused(what: string, problem: string, fix: string): Error {
  return failure('INVALID_ARGUMENT', { what, problem, fix });
}

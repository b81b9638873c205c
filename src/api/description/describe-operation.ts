import type { FastifyContextConfig } from 'fastify';
import type { ErrorCode } from '../../contracts/errors.ts';
import { keepsAnswers } from '../http/repeated-requests.ts';
import type { Document, Media, Operation } from './document.ts';
import { exampleOf } from './example-of.ts';
import { refusalsAs, type RefusalFormat } from './other-refusals.ts';
import { problemAnswers } from './problem-answers.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The errors that this route gives besides those of every route. */
    errors?: readonly ErrorCode[];
    /** The route also answers with a stream of server-sent events: an example of one. */
    stream?: string;
    /** What the route answers with when that is no JSON. */
    mediaType?: string;
    /** How the route tells errors; absent: as problem+json. */
    refusals?: RefusalFormat;
    /** The body of the request is bytes of any kind. */
    takesBytes?: true;
    /** The answer may be bytes of any kind. */
    givesBytes?: true;
    /** The route is a WebSocket, of which OpenAPI knows nothing. */
    isWebSocket?: true;
    /** Other methods reach the same as this one. */
    methods?: readonly string[];
  }
}

export interface RouteFacts extends Pick<
  FastifyContextConfig,
  'scope' | 'errors' | 'stream' | 'mediaType' | 'refusals' | 'takesBytes' | 'givesBytes' | 'isWebSocket' | 'methods' | 'repeated'
> {
  /** A request without a body is one. */
  needsNoBody: boolean;
}

/** Completes what has been made of the route's schemas: who may call it, every error it gives, examples. */
export function describeOperation(document: Document, operation: Operation, facts: RouteFacts): void {
  // OpenAPI says that parameters of this name are to be ignored.
  operation.parameters = operation.parameters?.filter(({ in: place, name }) => place !== 'header' || name !== 'accept') ?? [];
  if (operation.requestBody && facts.needsNoBody) operation.requestBody.required = false;
  nameScope(operation, facts);
  if (keepsAnswers(facts.repeated)) operation.parameters.push(IDEMPOTENCY_KEY);
  nameAnswers(operation);
  if (facts.stream !== undefined) addStream(operation, facts.stream);
  if (facts.mediaType !== undefined) renameMedia(operation, facts.mediaType);
  if (facts.takesBytes) operation.requestBody = { required: false, content: { ...BYTES } };
  if (facts.givesBytes) giveBytes(operation);
  if (facts.isWebSocket) operation['x-websocket'] = true;
  if (facts.methods) operation['x-methods'] = facts.methods;
  addExamples(document, operation);
  Object.assign(operation.responses, refusalsAs(facts.refusals, problemAnswers(codesOf(operation, facts))));
}

const IDEMPOTENCY_KEY = {
  in: 'header',
  name: 'idempotency-key',
  required: false,
  description: 'Makes a repetition of the request safe for a day',
  schema: { type: 'string' },
  example: 'order-4711',
};

function nameScope(operation: Operation, { scope }: RouteFacts): void {
  operation.security = scope === 'none' ? [] : [{ key: [] }];
  if (scope !== 'none') operation.description = [operation.description, `Scope: \`${scope}\`.`].filter(Boolean).join(' ');
}

/** Refusals are described by their codes instead. */
function nameAnswers({ responses }: Operation): void {
  for (const [status, answer] of Object.entries(responses)) {
    if (isProblem(answer.content?.['application/json'])) delete responses[status];
    else if (answer.description === 'Default Response') answer.description = NAMES[status] ?? 'Answer';
  }
}

function addExamples(document: Document, { responses, requestBody }: Operation): void {
  const holders = [...Object.values(responses), ...(requestBody ? [requestBody] : [])];
  for (const media of holders.flatMap(({ content = {} }) => Object.values(content))) {
    if (media.schema && media.example === undefined) media.example = exampleOf(document, media.schema);
  }
}

const NAMES: Record<string, string> = {
  101: 'The connection is a WebSocket now',
  200: 'Done',
  201: 'Made',
  202: 'Accepted',
  204: 'Nothing to answer with',
  503: 'Not now',
};

function isProblem(media: Media | undefined): boolean {
  return media?.schema?.$ref === '#/components/schemas/Problem';
}

function addStream({ responses }: Operation, example: string): void {
  const { content } = responses['200'] ?? {};
  if (content) content['text/event-stream'] = { schema: { type: 'string', description: 'Server-sent events' }, example };
}

function renameMedia({ responses }: Operation, mediaType: string): void {
  for (const answer of Object.values(responses)) {
    const { 'application/json': media } = answer.content ?? {};
    if (media) answer.content = { [mediaType]: media };
  }
}

const BYTES = { 'application/octet-stream': { schema: { type: 'string', description: 'Bytes' }, example: 'Any bytes' } };

/** A whole file beside what is said as JSON, and a part of one alone. */
function giveBytes({ responses }: Operation): void {
  const { 200: whole, 206: part } = responses;
  if (whole) whole.content = { ...whole.content, ...BYTES };
  if (part) part.content = { ...BYTES };
}

/** Every code that the route gives. Routes without a key and without input refuse no request. */
function codesOf({ parameters = [], requestBody }: Operation, { scope, errors = [], repeated }: RouteFacts): Set<ErrorCode> {
  const needsKey = scope !== 'none';
  const takesInput = requestBody !== undefined || parameters.length > 0;
  return new Set<ErrorCode>([
    ...(takesInput ? (['INVALID_ARGUMENT'] as const) : []),
    ...(needsKey ? (['UNAUTHENTICATED', 'SCOPE_MISSING', 'LIMIT_REACHED', 'ANSWERS_UNREAD'] as const) : []),
    ...(requestBody ? (['BODY_TOO_LARGE'] as const) : []),
    ...(requestBody && needsKey ? (['UPLOAD_LIMIT'] as const) : []),
    ...errors,
    ...(keepsAnswers(repeated) ? (['IDEMPOTENCY_MISMATCH', 'IDEMPOTENCY_RUNNING', 'IDEMPOTENCY_ONCE'] as const) : []),
    ...(needsKey || takesInput ? (['SERVICE_AWAY'] as const) : []),
  ]);
}

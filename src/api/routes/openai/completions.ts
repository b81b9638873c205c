import { randomUUID } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { anySignal } from '../../../common/any-signal.ts';
import { id } from '../../../common/arguments.ts';
import { failure } from '../../../contracts/errors.ts';
import { withoutUndefined } from '../../../common/without-undefined.ts';
import { makeId } from '../../../contracts/ids.ts';
import { sendOptions } from '../../../client/client-arguments.ts';
import { findAgent } from '../../../client/start-conversation.ts';
import type { ResultOptions } from '../../../client/client-tools/client-tool-types.ts';
import type { ConversationRow } from '../../../store/store.ts';
import { mayReach, type Caller } from '../../auth/caller.ts';
import { leastOf } from '../../auth/limits-of-caller.ts';
import { requireRoom } from '../../auth/require-room.ts';
import { ownUser } from '../../auth/tenant-for.ts';
import { answerWithStream } from '../../http/answer-with-stream.ts';
import { repeatableIds, type RepeatableIds } from '../../http/idempotency.ts';
import { refuseAsOpenAi } from '../../http/refuse.ts';
import type { Api, RouteParts } from '../../http/route-parts.ts';
import { untilGone } from '../../http/until-gone.ts';
import { completionOf, type Completion, type CompletionHead } from '../../protocols/openai/chunks.ts';
import { createCompletionView, createPartsView } from '../../protocols/openai/completion-view.ts';
import type { CompletionPart } from '../../protocols/openai/map-event.ts';
import { followEvents } from '../../stream/stream-events.ts';
import { giveResults } from '../chat/give-results.ts';
import { chatNamed, sendToChat, type ChatMessage, type NamedChat, type TakenMessage } from '../chat/chats.ts';
import { toolsIn, completionBody, readCompletionRequest, type CompletionBody, type CompletionRequest } from './completion-request.ts';
import { COMMAND_ERRORS } from '../conversation-of.ts';
import { idempotencyHeader } from '../schemas.ts';
import { completion } from './schemas.ts';

/** Of a body that has all messages of a chat. */
const BODY_BYTES = 30_000_000;
const CONVERSATION = 'x-longshore-conversation';
const STREAM_EXAMPLE = 'data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"It is high at 12:04."}}]}\n\ndata: [DONE]\n\n';
const DEFAULT_USER = 'openai';

const headers = z.looseObject({
  [CONVERSATION]: id.optional().meta({ description: 'Names the conversation: an id of your own, or that of a conversation', example: 'chat-1' }),
  ...idempotencyHeader,
});

type Results = Extract<CompletionRequest, { kind: 'results' }>;

export function addCompletionRoutes(api: Api, parts: RouteParts): void {
  api.post(
    '/openai/v1/chat/completions',
    {
      config: {
        scope: 'conversations:write',
        repeated: 'ids',
        errors: [
          'AGENT_NOT_FOUND',
          ...COMMAND_ERRORS,
          'MESSAGE_INVALID',
          'ATTACHMENT_INVALID',
          'ATTACHMENTS_FULL',
          'CLIENT_TOOLS_REFUSED',
          'MESSAGE_CHANGED',
          'TURN_FAILED',
          'STREAM_LIMIT',
        ],
        stream: STREAM_EXAMPLE,
        refusals: 'openai',
      },
      bodyLimit: BODY_BYTES,
      errorHandler: refuseAsOpenAi,
      schema: {
        summary: "Send a message and get the answer, as OpenAI's chat completions",
        description:
          'The answer names its conversation in the header x-longshore-conversation. Without a conversation, the request is one of its own, which is closed after the answer.',
        tags: ['openai'],
        headers,
        body: completionBody,
        response: { 200: completion },
      },
    },
    async (request, reply) => {
      const { body, caller, held } = request;
      if (!body.stream) {
        const answer = async () => {
          const taken = await take(parts, request, body);
          // The message has been taken: a repetition would be another one.
          void reply.headers({ [CONVERSATION]: taken.conversationId, 'x-should-retry': 'false' });
          return whole(parts, request, reply, taken, headOf(body));
        };
        return parts.streams.wait(caller.keyId, answer, leastOf(held, 'streams'));
      }
      await answerWithStream(parts, request, reply, async () => {
        const { conversationId, turnId, afterSeq, answered } = await take(parts, request, body);
        const includeUsage = body.stream_options?.include_usage === true;
        const view = createCompletionView({ conversationId, turnId, answered, head: headOf(body), includeUsage });
        return { conversationId, afterSeq, view, headers: { [CONVERSATION]: conversationId } };
      });
      return reply;
    },
  );
}

function headOf({ model }: CompletionBody): CompletionHead {
  return { id: `chatcmpl-${randomUUID()}`, created: Math.floor(Date.now() / 1000), model };
}

/** What a request continues; `answered`: the calls whose results it has given. */
type Taken = TakenMessage & { answered?: string[] };

async function take(parts: RouteParts, request: FastifyRequest, body: CompletionBody): Promise<Taken> {
  const wanted = readCompletionRequest(body);
  const { clientTools } = sendOptions(withoutUndefined({ clientTools: toolsIn(body, await findAgent(parts.client.agents, body.model)) }));
  return wanted.kind === 'results'
    ? takeResults(parts, request, body, wanted)
    : takeMessage(parts, request, body, { ...wanted, ...(clientTools && { clientTools }) });
}

type GivenMessage = Extract<CompletionRequest, { kind: 'message' }> & Pick<ChatMessage, 'clientTools'>;

async function takeMessage(parts: RouteParts, request: FastifyRequest, body: CompletionBody, given: GivenMessage): Promise<Taken> {
  const { kind: _kind, hasHistory, results, ...content } = given;
  const { caller, headers } = request;
  const user = userOf(request, body);
  const called = await turnOfCalls(parts, caller, results, user);
  const name = nameFor(request, body) ?? called?.row.conversationId;
  if (name === undefined && hasHistory) throw nameless();
  const ids = repeatableIds(parts, caller, headers, 'completions') ?? newIds();
  const message = { messageId: ids.id('msg'), ...content, agent: body.model, user: user ?? DEFAULT_USER };
  const chat = name === undefined ? await chatOrNew(parts, ids.id('conv'), message.user) : await chatNamed(parts, caller, name, user);
  refuseOtherAgent(chat, body.model);
  await requireRoom(parts.store, request);
  const isOfChat = called?.row.conversationId === chat.conversationId;
  return isOfChat ? sendWithResults(parts, request, chat, message, { ...called, results }) : sendToChat(parts, request, chat, closing(message, name));
}

/** A conversation without a name ends with its answer. */
function closing(message: ChatMessage, name: string | undefined): ChatMessage {
  return name === undefined ? { ...message, closeWhenDone: true } : message;
}

/** The message goes first, so that the turn which waits for the results reads it with them. */
async function sendWithResults(
  parts: RouteParts,
  request: FastifyRequest,
  chat: NamedChat,
  message: ChatMessage,
  { turnId, results }: { turnId: string; results: readonly ResultOptions[] },
): Promise<Taken> {
  const taken = await sendToChat(parts, request, chat, { ...message, whenBusy: 'steer' });
  await giveResults(parts.longshore, chat.conversationId, results);
  return { ...taken, ...(taken.turnId === turnId && { answered: results.map(({ callId }) => callId) }) };
}

/** The turn that the calls are of; undefined when they are not all of one, or not the caller's. */
async function turnOfCalls(
  { store }: RouteParts,
  caller: Caller,
  results: readonly ResultOptions[],
  user: string | undefined,
): Promise<{ row: ConversationRow; turnId: string } | undefined> {
  const calls = await Promise.all(results.map(({ callId }) => store.toolCalls.get(callId)));
  const [first] = calls;
  const row = first && (await store.conversations.get(first.conversationId));
  const isOne = calls.every((call) => call?.turnId === first?.turnId && call?.conversationId === first?.conversationId);
  const isTheirs = row && mayReach(caller, row) && (user === undefined || user === row.userId);
  return isOne && isTheirs ? { row, turnId: first.turnId } : undefined;
}

function nameless(): Error {
  const fix = `Name the conversation with the header ${CONVERSATION} or metadata.conversation, such as by the id of the chat in your application`;
  return failure('INVALID_ARGUMENT', { what: 'body.messages', problem: 'they have a history, and nothing says of which conversation', fix });
}

/** The ids of the calls lead to their conversation: a client that runs tools need not name it. */
async function takeResults(parts: RouteParts, request: FastifyRequest, body: CompletionBody, wanted: Results): Promise<Taken> {
  const { store, longshore } = parts;
  const { results, at } = wanted;
  const called = await turnOfCalls(parts, request.caller, results, userOf(request, body));
  if (!called) {
    throw failure('INVALID_ARGUMENT', {
      what: at,
      problem: 'it answers no call of one of your conversations',
      fix: 'Send back the ids of the calls as they came',
    });
  }
  const { row, turnId } = called;
  const { conversationId } = row;
  refuseOtherAgent({ row }, body.model);
  await giveResults(longshore, conversationId, results);
  request.ledTo = { conversationId, turnId };
  const startSeq = await store.events.turnStart(conversationId, turnId);
  return { conversationId, turnId, afterSeq: Math.max(0, startSeq - 1), answered: results.map(({ callId }) => callId) };
}

function newIds(): Pick<RepeatableIds, 'id'> {
  return { id: (prefix) => makeId(prefix, Date.now(), Math.random) };
}

function refuseOtherAgent({ row }: Pick<NamedChat, 'row'>, model: string): void {
  if (!row || row.agentId === model) return;
  throw failure('INVALID_ARGUMENT', { what: 'body.model', problem: `this conversation is with "${row.agentId}"`, fix: 'Name that, or another conversation' });
}

/** A conversation that an earlier request with the same Idempotency-Key has made. @throws CONVERSATION_NOT_FOUND when that was for another user */
async function chatOrNew({ store }: RouteParts, conversationId: string, user: string): Promise<NamedChat> {
  const row = await store.conversations.get(conversationId);
  if (row && row.userId !== user) throw failure('CONVERSATION_NOT_FOUND', { conversationId });
  return { conversationId, ...(row && { row }), isOwn: true };
}

function userOf({ caller }: FastifyRequest, { user }: CompletionBody): string | undefined {
  return ownUser(caller, user ?? undefined);
}

function nameFor({ headers }: FastifyRequest, { metadata }: CompletionBody): string | undefined {
  const given = headers[CONVERSATION] as string | undefined;
  const inBody = metadata?.conversation;
  if (given === undefined || inBody === undefined || given === inBody) return given ?? inBody;
  throw failure('INVALID_ARGUMENT', {
    what: 'body.metadata.conversation',
    problem: `it is not that of the header ${CONVERSATION}`,
    fix: 'Leave one of them out',
  });
}

/** Waits for the whole answer. @throws TURN_FAILED, SERVICE_AWAY */
async function whole(
  parts: RouteParts,
  request: FastifyRequest,
  reply: FastifyReply,
  { conversationId, turnId, afterSeq, answered }: Taken,
  head: CompletionHead,
): Promise<Completion> {
  const found: CompletionPart[] = [];
  const view = createPartsView({ conversationId, turnId, answered }, (more) => (found.push(...more), ''));
  const signal = anySignal([untilGone(reply.raw), parts.closing]);
  const source = { events: parts.store.events, readFrames: parts.readFrames };
  const isWhole = await followEvents(source, { conversationId, afterSeq, view, signal }, () => undefined);
  if (!isWhole) throw failure('SERVICE_AWAY', { cause: 'it stops', request: request.id });
  const failed = found.find((part) => part.kind === 'error');
  if (failed) throw failure('TURN_FAILED', { turnId, outcome: 'failed', problem: failed.text });
  return completionOf(head, found);
}

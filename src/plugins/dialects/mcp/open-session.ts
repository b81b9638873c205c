import { Client } from '@modelcontextprotocol/client';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  LoggingMessageNotificationSchema,
  PromptListChangedNotificationSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { cutMiddle } from '../../../contracts/visible-text.ts';
import { inTimeOr } from '../../../common/in-time.ts';
import type { Sampling } from '../../../contracts/mcp/server.ts';
import { MAX_QUESTION_MS } from '../../../contracts/questions/question.ts';
import type { ToolContext } from '../../api/define-plugin.ts';
import { answerQuestion } from './questions/answer-question.ts';
import { answerSampling } from './questions/answer-sampling.ts';
import { createCalls } from './questions/calls-in-progress.ts';
import type { JsonObject } from '../../../contracts/json.ts';
import type { ServerRequest } from '../../../sandbox/api/host-methods.ts';
import { aboutServer, type ListedTools } from './offers/listed-tools.ts';
import { offersIn } from './offers/offered-tools.ts';
import { createWatching, type Watching } from './offers/watching.ts';
import type { Heard } from './heard.ts';
import { MessageRefused } from './message-refused.ts';
import { messageOf } from './http-words.ts';
import type { OpenTransport } from './open-transport.ts';
import { MAX_PAGES, MORE_PAGES } from './server-tools.ts';

/** A connection to a server, from its initialization to its end. */
export interface Session {
  /** As the server sends them. Each is checked separately, so that an invalid one does not affect the others. */
  list(): Promise<ListedTools>;
  call(request: ServerRequest, options: CallOptions): Promise<JsonObject>;
  /** Follows the resources that a conversation watches. */
  follow: Watching['follow'];
  /** Resolves with the reason when the connection has ended; never rejects. */
  ended: Promise<string>;
  close(why: string): Promise<void>;
}

export interface CallOptions {
  /** Asks the person behind the call's conversation. Absent: no person can be asked. */
  askPerson?: ToolContext['askPerson'];
  /** Absent: the model cannot be asked. */
  model?: ToolContext['model'];
  signal: AbortSignal;
  timeoutMs: number;
  onProgress?: (line: string) => void;
}

export interface SessionOptions {
  name: string;
  /** Absent: the server may not ask the model. */
  sampling?: Sampling | undefined;
}

const CONNECT_TIMEOUT_MS = 30_000;
/** Most notifications and unreadable lines per second. A server that sends more is disconnected. */
const MAX_NOISE = 1_000;
const LATE_MS = 10_000;
const WATCH_MS = 10_000;
const FAREWELL_MS = 2_000;
const ANY_RESULT = z.looseObject({});
const TOOLS = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() });

/**
 * Initializes a connection to a server.
 * @throws an Error with the reason when that fails; nothing of the connection is left then.
 */
export async function openSession({ name, sampling }: SessionOptions, opened: OpenTransport, heard: Heard): Promise<Session> {
  const { transport } = opened;
  const client = new Client(
    { name: 'longshore', version: '0.1.0' },
    { capabilities: { elicitation: { form: {}, url: {} }, ...(sampling && { sampling: {} }) } },
  );
  const calls = createCalls<CallOptions>();
  const watching = createWatching((request) => call(client, request, { signal: AbortSignal.timeout(WATCH_MS), timeoutMs: WATCH_MS }), heard.problem);
  let reason: string | undefined;
  let tell: (why: string) => void = () => undefined;
  const ended = new Promise<string>((resolve) => (tell = resolve));
  const close = async (why: string): Promise<void> => {
    reason ??= why;
    const closing = end(opened);
    // Calls do not wait for a program that ends slowly or is blocked in a write.
    transport.onclose?.();
    await closing;
  };
  const clock = opened.idleTime ?? (() => performance.now());
  const isTooMuch = createNoiseLimit(clock, () => void close(`it sent more than ${MAX_NOISE} notifications or unreadable lines within a second`));
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- it is no event target
  client.onclose = () => tell(reason ?? (opened.lastWords() || 'it closed the connection'));
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- as above
  client.onerror = (error) => {
    isTooMuch();
    if (error instanceof MessageRefused) void close(error.message);
    // With this error the transport gives up the stream of notifications without closing itself.
    if (error.message.includes('Maximum reconnection attempts')) void close('it does not answer any more');
  };
  opened.onCut?.((error) => void close(error instanceof MessageRefused ? error.message : 'it broke off an answer'));
  client.setRequestHandler(ElicitRequestSchema, ({ params }, { signal }) => answerQuestion(name, params, calls.current(), signal));
  if (sampling)
    client.setRequestHandler(CreateMessageRequestSchema, ({ params }, { signal }) => answerSampling(name, sampling, params, calls.current(), signal));
  client.setNotificationHandler(ToolListChangedNotificationSchema, heard.toolsChanged);
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params: { uri } }) => watching.updated(uri));
  client.setNotificationHandler(ResourceListChangedNotificationSchema, () => heard.listChanged('resources'));
  client.setNotificationHandler(PromptListChangedNotificationSchema, () => heard.listChanged('prompts'));
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params: { level, data } }) => heard.log(level, data));
  try {
    await client.connect(transport, { timeout: CONNECT_TIMEOUT_MS });
  } catch (error) {
    await close('');
    throw new Error(wordsOf(error as Error, opened.lastWords()), { cause: error });
  }
  // Without a level, a server may send all that it logs. One that refuses the level can be used none the less.
  if (client.getServerCapabilities()?.logging) void client.setLoggingLevel('info').catch(() => undefined);
  const deliver = transport.onmessage;
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- as above
  transport.onmessage = (message, extra) => {
    if (reason !== undefined || ('method' in message && isTooMuch())) return;
    deliver?.(message, extra);
  };
  const { version } = client.getServerVersion() ?? { version: '0' };
  return {
    list: async () => {
      const { tools, ...others } = client.getServerCapabilities() ?? {};
      const said = aboutServer({ offers: offersIn(others), instructions: client.getInstructions() });
      // A server without tools need not know how to list them.
      return { version, tools: tools ? await listTools(client) : [], ...said };
    },
    call: (request, options) => calls.during(options, () => call(client, request, options)),
    follow: (...given) => watching.follow(...given),
    ended,
    close,
  };
}

/** The message "fetch failed" gives no reason; the reason is in the error's cause. */
function wordsOf(error: Error, lastWords: string): string {
  const { message: why = '' } = (error.cause ?? {}) as Partial<Error>;
  return [messageOf(error), why, lastWords].filter((text) => text !== '').join(': ');
}

/** Ends the connection to a server. First ends the session at the server, where that is required; a server that does not answer is ignored. */
async function end({ transport, farewell }: OpenTransport): Promise<void> {
  await inTimeOr(farewell?.(), FAREWELL_MS, undefined).catch(() => undefined);
  await transport.close().catch(() => undefined);
}

async function listTools(client: Client): Promise<unknown[]> {
  const tools: unknown[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const { tools: more, nextCursor } = await client.request({ method: 'tools/list', params: cursor === undefined ? {} : { cursor } }, TOOLS);
    tools.push(...more);
    if (nextCursor === undefined || nextCursor === cursor) return tools;
    cursor = nextCursor;
  }
  return [...tools, MORE_PAGES];
}

async function call(client: Client, request: ServerRequest, { signal, timeoutMs, onProgress }: CallOptions): Promise<JsonObject> {
  const onprogress = ({ progress, total, message }: { progress: number; total?: number | undefined; message?: string | undefined }) =>
    onProgress?.(cutMiddle(message ?? (total === undefined ? `${progress}` : `${progress} of ${total}`), 200));
  const answer = await client.request(request, ANY_RESULT, {
    signal,
    // The caller ends the call in time; this limit applies when its signal never comes. The time in which a person is asked does not count.
    timeout: timeoutMs + LATE_MS + MAX_QUESTION_MS,
    ...(onProgress && { onprogress }),
  });
  return answer as JsonObject;
}

/** The returned function counts its calls. It returns true from the moment when there were too many in one second. */
function createNoiseLimit(clock: () => number, onTooMuch: () => void): () => boolean {
  let since = 0;
  let count = 0;
  let over = false;
  return () => {
    const now = clock();
    if (now - since > 1_000) [since, count] = [now, 0];
    count += 1;
    if (count > MAX_NOISE && !over) {
      over = true;
      onTooMuch();
    }
    return over;
  };
}

import { Client, SdkError, SdkErrorCode } from '@modelcontextprotocol/client';
import { inTimeOr } from '../../../../common/in-time.ts';
import type { JsonObject } from '../../../../contracts/json.ts';
import type { Sampling } from '../../../../contracts/mcp/server.ts';
import type { ServerRequest } from '../../../../sandbox/api/host-methods.ts';
import type { ListedTools } from '../offers/listed-tools.ts';
import { createWatching, type Watching } from '../offers/watching.ts';
import type { CallOptions, Talk } from './client-requests.ts';
import { mayBeOlder, probeTime, type Remembered } from './generation.ts';
import type { Heard } from './heard.ts';
import { messageOf } from './http-words.ts';
import { MessageRefused } from './message-refused.ts';
import type { OpenTransport } from './open-transport.ts';
import { talkWithHandshake } from './with-handshake.ts';
import { talkWithoutHandshake } from './without-handshake.ts';

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

export interface SessionOptions {
  name: string;
  /** Absent: the server may not ask the model. */
  sampling?: Sampling | undefined;
  /** Of the connections before this one, and for those after it. */
  remembered: Remembered;
  /** Ends the attempt. */
  signal: AbortSignal;
}

const CONNECT_TIMEOUT_MS = 30_000;
/** Most notifications and unreadable lines per second. A server that sends more is disconnected. */
const MAX_NOISE = 1_000;
const WATCH_MS = 10_000;
const FAREWELL_MS = 2_000;
const GIVEN_UP = 'it is not needed any more';

/**
 * Opens a connection to a server in the newest generation of the protocol that it speaks.
 * @param open makes a transport; a server that could not be asked which generation it speaks gets a second one
 * @throws an Error with the reason when that fails; nothing of the connection is left then.
 */
export async function openSession(options: SessionOptions, open: () => OpenTransport, heard: Heard): Promise<Session> {
  const { remembered } = options;
  let first: unknown;
  if (!remembered.isOlder) {
    try {
      return await connect(options, open(), heard, false);
    } catch (error) {
      if (options.signal.aborted || !mayBeOlder((error as Error).cause)) throw error;
      first = error;
    }
  }
  try {
    return await connect(options, open(), heard, true);
  } catch (error) {
    remembered.isOlder = false;
    remembered.isSlow = isTimeout((first as Error | undefined)?.cause);
    throw error;
  }
}

/** @param isOlder it is known, or tried, that the server speaks the older generation */
async function connect({ name, sampling, remembered, signal }: SessionOptions, opened: OpenTransport, heard: Heard, isOlder: boolean): Promise<Session> {
  const { transport } = opened;
  const client = new Client(
    { name: 'longshore', version: '0.1.0' },
    {
      capabilities: { elicitation: { form: {}, url: {} }, ...(sampling && { sampling: {} }) },
      versionNegotiation: { mode: 'auto', probe: { timeoutMs: probeTime(remembered) } },
    },
  );
  const end = createEnd(opened);
  const clock = opened.idleTime ?? (() => performance.now());
  const isTooMuch = createNoiseLimit(clock, () => void end.close(`it sent more than ${MAX_NOISE} notifications or unreadable lines within a second`));
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- it is no event target
  client.onclose = () => end.hasEnded();
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- as above
  client.onerror = (error) => {
    isTooMuch();
    if (error instanceof MessageRefused) void end.close(error.message);
    // With this error the transport gives up the stream of notifications without closing itself.
    if (error.message.includes('Maximum reconnection attempts')) void end.close('it does not answer any more');
  };
  opened.onCut?.((error) => void end.close(error instanceof MessageRefused ? error.message : 'it broke off an answer'));
  let talk: Talk;
  const older = talkWithHandshake(client, name, sampling);
  const watching = createWatching((request) => talk.call(request, { signal: AbortSignal.timeout(WATCH_MS), timeoutMs: WATCH_MS }), heard.problem);
  hear(client, heard, watching);
  const giveUp = () => void end.close(GIVEN_UP);
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    if (signal.aborted) throw new Error(GIVEN_UP);
    await client.connect(transport, { timeout: CONNECT_TIMEOUT_MS, ...(isOlder && { prior: { kind: 'legacy' } }) });
  } catch (error) {
    await end.close('');
    throw new Error(wordsOf(error as Error, opened.lastWords()), { cause: error });
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
  const isNewer = client.getProtocolEra() === 'modern';
  remembered.isOlder = !isNewer;
  const deliver = transport.onmessage;
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- as above
  transport.onmessage = (message, extra) => {
    if (end.reason() !== undefined || ('method' in message && isTooMuch())) return;
    opened.onAnswer?.(message);
    deliver?.(message, extra);
  };
  if (isNewer) {
    const onLost = () => void end.close('it does not answer any more');
    talk = talkWithoutHandshake(client, { name, sampling, heard, isHttp: opened.isHttp === true, ended: end.signal, onLost });
  } else {
    older.begin();
    talk = older;
  }
  const { version } = client.getServerVersion() ?? { version: '0' };
  return {
    list: async () => ({ version, ...(await talk.list()) }),
    call: (request, options) => talk.call(request, options),
    follow: (...given) => watching.follow(...given),
    ended: end.ended,
    close: (why) => end.close(why),
  };
}

function hear(client: Client, heard: Heard, watching: Watching): void {
  client.setNotificationHandler('notifications/tools/list_changed', heard.toolsChanged);
  client.setNotificationHandler('notifications/resources/updated', ({ params: { uri } }) => watching.updated(uri));
  client.setNotificationHandler('notifications/resources/list_changed', () => heard.listChanged('resources'));
  client.setNotificationHandler('notifications/prompts/list_changed', () => heard.listChanged('prompts'));
  client.setNotificationHandler('notifications/message', ({ params: { level, data } }) => heard.log(level, data));
}

/** How a connection ends, and why. */
interface End {
  ended: Promise<string>;
  signal: AbortSignal;
  close(why: string): Promise<void>;
  /** It has ended by itself, or by `close`. */
  hasEnded(): void;
  /** Why it was closed; undefined as long as it was not. */
  reason(): string | undefined;
}

function createEnd(opened: OpenTransport): End {
  const controller = new AbortController();
  let reason: string | undefined;
  let tell: (why: string) => void = () => undefined;
  const ended = new Promise<string>((resolve) => (tell = resolve));
  return {
    ended,
    signal: controller.signal,
    reason: () => reason,
    hasEnded() {
      controller.abort();
      tell(reason ?? (opened.lastWords() || 'it closed the connection'));
    },
    async close(why) {
      reason ??= why;
      const closing = end(opened);
      // Calls do not wait for a program that ends slowly or is blocked in a write.
      opened.transport.onclose?.();
      await closing;
    },
  };
}

function isTimeout(error: unknown): boolean {
  return error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout;
}

/** The message "fetch failed" gives no reason; the reason is in the error's cause. So is what has prevented a server from being asked which generation it speaks. */
function wordsOf(given: Error, lastWords: string): string {
  const isOuter = given instanceof SdkError && given.code === SdkErrorCode.EraNegotiationFailed && given.cause instanceof Error;
  const error = isOuter ? (given.cause as Error) : given;
  const { message: why = '' } = (error.cause ?? {}) as Partial<Error>;
  return [messageOf(error), why, lastWords].filter((text) => text !== '').join(': ');
}

/** Ends the connection to a server. First ends the session at the server, where that is required; a server that does not answer is ignored. */
async function end({ transport, farewell }: OpenTransport): Promise<void> {
  await inTimeOr(farewell?.(), FAREWELL_MS, undefined).catch(() => undefined);
  await transport.close().catch(() => undefined);
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

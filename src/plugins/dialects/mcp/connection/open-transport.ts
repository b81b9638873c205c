import { StreamableHTTPClientTransport, type FetchLike, type JSONRPCMessage, type RequestId, type Transport } from '@modelcontextprotocol/client';
import type { McpProgram, McpRemote } from '../../../../contracts/mcp/server.ts';
import { LONGEST_TIMER_MS } from '../../../../common/longest-timer.ts';
import { brokenOff } from './fate-of.ts';
import { fillInServer, invalidServer, type ReadEnvironment } from './fill-in-server.ts';
import { scanBody, scanEvents, type MessageScan } from './message-scan.ts';
import { MessageRefused } from './message-refused.ts';
import { ProgramTransport } from './program-transport.ts';

/** One connection to a server. */
export interface OpenTransport {
  transport: Transport;
  /** The end of what the server wrote to its stderr; for messages. */
  lastWords: () => string;
  /** A clock in milliseconds that stands still while messages wait to be read. Absent where there is none. */
  idleTime?: () => number;
  /** Ends the session at the server. Absent where the end of the transport does that. */
  farewell?: () => Promise<void>;
  /** Sets the function that is called when a connection breaks and its pending answer cannot come by another one. */
  onCut?: (tell: (error: unknown) => void) => void;
  /** Called with each message of the server. */
  onAnswer?: (message: JSONRPCMessage) => void;
  /** It is reached over HTTP. */
  isHttp?: true;
}

const MAX_MESSAGE_BYTES = 8 * 1024 * 1024;
/** An answer at the end of a stream is delivered a moment after the end was read. */
const PARSE_MS = 2_000;
const SHORTEST_PAUSE_MS = 250;

/**
 * Makes a transport to a server; does not start it yet.
 * @param base sends its requests, if it is reached over HTTP
 * @throws PLUGIN_INVALID for a variable that the worker does not have, or for an invalid address.
 */
export function openTransport(name: string, server: McpProgram | McpRemote, readEnvironment: ReadEnvironment, base: FetchLike = fetch): OpenTransport {
  const fill = <Value>(value: Value) => fillInServer(name, value, readEnvironment);
  if ('url' in server) return openRemote(name, fill(server.url), fill(server.headers), base);
  const transport = new ProgramTransport({ ...server, env: fill(server.env) });
  return { transport, lastWords: () => transport.lastWords(), idleTime: () => transport.idleTime() };
}

function openRemote(name: string, url: string, headers: Record<string, string>, base: FetchLike): OpenTransport {
  if (!/^https?:/.test(url) || !URL.canParse(url)) throw invalidServer(name, 'its url is not an http or https address', 'Correct it in the agent');
  let cut: (error: unknown) => void = () => undefined;
  /** Requests that have no answer yet. The answer of each comes over its own connection, over one that resumes it, or not at all. */
  const open = new Set<RequestId>();
  const breakOff = (id: RequestId, why: string): void => {
    if (open.delete(id)) transport.onmessage?.({ jsonrpc: '2.0', id, error: brokenOff(why) });
  };
  const cutIfRefused = (error: unknown): unknown => error instanceof MessageRefused && cut(error);
  const fetchWatched = async (target: string | URL, init?: RequestInit): Promise<Response> => {
    const response = await base(target, init);
    if (init?.method !== 'POST') return watched(response, { onCut: cutIfRefused });
    const isNewer = new Headers(init.headers).has('mcp-method');
    const { id, method } = JSON.parse(init.body as string) as { id?: RequestId; method?: string };
    // The stream of changes is opened again by who opened it.
    if (method === 'subscriptions/listen') return watched(response, { onCut: cutIfRefused });
    if (id === undefined || method === undefined || !response.ok) return watched(response, isNewer ? {} : { onCut: cut });
    open.add(id);
    const onCut = (error: unknown) => {
      if (init.signal?.aborted) open.delete(id);
      else if (!isNewer || error instanceof MessageRefused) cut(error);
      else breakOff(id, 'it broke off its answer');
    };
    const onEnd = (canBeResumed: boolean) => (isNewer || !canBeResumed) && setTimeout(() => breakOff(id, 'it ended without its answer'), PARSE_MS).unref();
    return watched(response, { onCut, onEnd });
  };
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers },
    fetch: fetchWatched,
    reconnectionScheduler(reconnect, delayMs) {
      const timer = setTimeout(reconnect, pauseBeforeReconnect(delayMs));
      return () => clearTimeout(timer);
    },
  });
  return {
    transport,
    isHttp: true,
    lastWords: () => '',
    farewell: () => transport.terminateSession(),
    onCut: (tell) => (cut = tell),
    onAnswer: (message) => 'id' in message && !('method' in message) && message.id !== undefined && open.delete(message.id),
  };
}

/** Milliseconds. A server says how long a stream that ended is to rest: with 0, and with what is more than a timer can take, it would be opened again without end. */
export function pauseBeforeReconnect(askedMs: number): number {
  return Math.min(Math.max(askedMs, SHORTEST_PAUSE_MS), LONGEST_TIMER_MS);
}

interface Watch {
  /** A connection breaks, and its answer cannot come by another one. */
  onCut?: (error: unknown) => void;
  onEnd?: (canBeResumed: boolean) => void;
}

/** The same response. It fails at a message that is too large or would take long to parse. */
function watched(response: Response, watch: Watch): Response {
  if (!response.body) return response;
  const { status, statusText, headers } = response;
  const isEvents = headers.get('content-type')?.includes('text/event-stream') === true;
  const scan = isEvents ? scanEvents(MAX_MESSAGE_BYTES) : scanBody(MAX_MESSAGE_BYTES);
  return new Response(ReadableStream.from(read(response.body, scan, { ...watch, isEvents })), { status, statusText, headers });
}

async function* read(
  body: ReadableStream<Uint8Array>,
  scan: MessageScan,
  { onCut, onEnd, isEvents }: Watch & { isEvents: boolean },
): AsyncGenerator<Uint8Array> {
  let canBeResumed = false;
  try {
    for await (const chunk of body) {
      const text = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      canBeResumed ||= text.indexOf('id:') === 0 || text.includes('\nid:');
      const excess = scan(chunk);
      if (excess !== undefined) throw new MessageRefused(excess);
      yield chunk;
    }
    if (isEvents) onEnd?.(canBeResumed);
  } catch (error) {
    if (!canBeResumed || error instanceof MessageRefused) onCut?.(error);
    throw error;
  }
}

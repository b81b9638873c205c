import { StreamableHTTPClientTransport, type FetchLike, type Transport } from '@modelcontextprotocol/client';
import type { McpProgram, McpRemote } from '../../../contracts/mcp/server.ts';
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
}

const MAX_MESSAGE_BYTES = 8 * 1024 * 1024;

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
  const fetchWatched = async (target: string | URL, init?: RequestInit): Promise<Response> => {
    const response = await base(target, init);
    // No request waits for the other stream; the transport opens it again.
    return watched(response, init?.method === 'POST' ? (error) => cut(error) : () => undefined);
  };
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers }, fetch: fetchWatched });
  return { transport, lastWords: () => '', farewell: () => transport.terminateSession(), onCut: (tell) => (cut = tell) };
}

/** The same response. It fails at a message that is too large or would take long to parse. */
function watched(response: Response, onCut: (error: unknown) => void): Response {
  if (!response.body) return response;
  const { status, statusText, headers } = response;
  const isEvents = headers.get('content-type')?.includes('text/event-stream') === true;
  const scan = isEvents ? scanEvents(MAX_MESSAGE_BYTES) : scanBody(MAX_MESSAGE_BYTES);
  return new Response(ReadableStream.from(watch(response.body, scan, onCut)), { status, statusText, headers });
}

async function* watch(body: ReadableStream<Uint8Array>, scan: MessageScan, onCut: (error: unknown) => void): AsyncGenerator<Uint8Array> {
  let canBeResumed = false;
  try {
    for await (const chunk of body) {
      const text = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      canBeResumed ||= text.indexOf('id:') === 0 || text.includes('\nid:');
      const excess = scan(chunk);
      if (excess !== undefined) throw new MessageRefused(excess);
      yield chunk;
    }
  } catch (error) {
    if (!canBeResumed || error instanceof MessageRefused) onCut(error);
    throw error;
  }
}

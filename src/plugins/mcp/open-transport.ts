import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { McpProgram, McpRemote } from '../../contracts/agent.ts';
import { fillInServer, invalidServer, type ReadEnvironment } from './fill-in-server.ts';
import { ProgramTransport } from './program-transport.ts';

/** One way to a server, as long as it lasts. */
export interface OpenTransport {
  transport: Transport;
  /** The last of what the server wrote to its stderr; for messages. */
  lastWords: () => string;
  /** Ends the session at the server. Absent where the end of the transport is that. */
  farewell?: () => Promise<void>;
  /** Says who is told when the way breaks by which an answer was to come, and it will come by no other. */
  onCut?: (tell: () => void) => void;
}

const MAX_MESSAGE_BYTES = 8 * 1024 * 1024;

/**
 * Makes a transport to a server; nothing is started yet.
 * @throws PLUGIN_INVALID for a variable that the worker does not have or an address that is none.
 */
export function openTransport(name: string, server: McpProgram | McpRemote, readEnvironment: ReadEnvironment): OpenTransport {
  const fill = <Value>(value: Value) => fillInServer(name, value, readEnvironment);
  if ('url' in server) return openRemote(name, fill(server.url), fill(server.headers));
  const transport = new ProgramTransport({ ...server, env: fill(server.env) });
  return { transport, lastWords: () => transport.lastWords() };
}

function openRemote(name: string, url: string, headers: Record<string, string>): OpenTransport {
  if (!/^https?:/.test(url) || !URL.canParse(url)) throw invalidServer(name, 'its url is not an http or https address', 'Mend it in the agent');
  let cut: () => void = () => undefined;
  const fetchWatched = async (target: string | URL, init?: RequestInit): Promise<Response> => {
    const response = await fetch(target, init);
    // What comes by the other stream, nobody waits for; the transport opens it again.
    return watched(response, init?.method === 'POST' ? () => cut() : () => undefined);
  };
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers }, fetch: fetchWatched });
  return { transport, lastWords: () => '', farewell: () => transport.terminateSession(), onCut: (tell) => (cut = tell) };
}

/** The same answer, ended where one message of it (in a stream of events, what lies between two empty lines) is larger than is taken. */
function watched(response: Response, onCut: () => void): Response {
  if (!response.body) return response;
  const { status, statusText, headers } = response;
  return new Response(ReadableStream.from(watch(response.body, onCut)), { status, statusText, headers });
}

async function* watch(body: ReadableStream<Uint8Array>, onCut: () => void): AsyncGenerator<Uint8Array> {
  let size = 0;
  let canBeResumed = false;
  try {
    for await (const chunk of body) {
      const text = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      canBeResumed ||= text.indexOf('id:') === 0 || text.includes('\nid:');
      const end = Math.max(text.lastIndexOf('\n\n'), text.lastIndexOf('\n\r\n'));
      size = end === -1 ? size + chunk.length : chunk.length - end;
      if (size > MAX_MESSAGE_BYTES) throw new Error(`a message is larger than ${MAX_MESSAGE_BYTES} bytes`);
      yield chunk;
    }
  } catch (error) {
    if (!canBeResumed) onCut();
    throw error;
  }
}

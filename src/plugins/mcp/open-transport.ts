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
  const fetchBounded = async (target: string | URL, init?: RequestInit): Promise<Response> => bounded(await fetch(target, init));
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers }, fetch: fetchBounded });
  return { transport, lastWords: () => '', farewell: () => transport.terminateSession() };
}

/** Ends a body in which one message (in a stream of events, what lies between two empty lines) is larger than is taken. */
function bounded(response: Response): Response {
  if (!response.body) return response;
  let size = 0;
  const count = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      const text = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      const end = Math.max(text.lastIndexOf('\n\n'), text.lastIndexOf('\n\r\n'));
      size = end === -1 ? size + chunk.length : chunk.length - end;
      if (size > MAX_MESSAGE_BYTES) controller.error(new Error(`a message is larger than ${MAX_MESSAGE_BYTES} bytes`));
      else controller.enqueue(chunk);
    },
  });
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(count), { status, statusText, headers });
}

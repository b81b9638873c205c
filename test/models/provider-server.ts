import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JsonObject } from '../../src/contracts/json.ts';

export interface SeenRequest {
  path: string;
  headers: IncomingMessage['headers'];
  body: JsonObject;
}

/** A provider's API on this machine: `respond` answers, every request is kept. */
export async function startProvider(respond: (response: ServerResponse, request: SeenRequest) => void) {
  const requests: SeenRequest[] = [];
  const server = createServer((request, response) => void serve(request, response));
  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const seen = { path: request.url ?? '', headers: request.headers, body: JSON.parse(Buffer.concat(chunks).toString() || '{}') as JsonObject };
    requests.push(seen);
    respond(response, seen);
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Writes server-sent events; objects become JSON data lines. */
export function sendEvents(response: ServerResponse, events: (JsonObject | string)[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of events) {
    if (typeof event === 'string') response.write(`data: ${event}\n\n`);
    else response.write(`${typeof event.type === 'string' ? `event: ${event.type}\n` : ''}data: ${JSON.stringify(event)}\n\n`);
  }
  response.end();
}

/** The chunks of a chat-completions stream. */
export function chatChunks(deltas: JsonObject[], finishReason = 'stop'): (JsonObject | string)[] {
  const base = { id: 'chat-1', object: 'chat.completion.chunk', created: 1, model: 'm' };
  return [
    ...deltas.map((delta) => ({ ...base, choices: [{ index: 0, delta, finish_reason: null }] })),
    { ...base, choices: [{ index: 0, delta: {}, finish_reason: finishReason }] },
    { ...base, choices: [], usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 } },
    '[DONE]',
  ];
}

import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { UrlElicitationRequiredError, type ElicitRequestFormParams, type ElicitRequestURLParams } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

const FORM: ElicitRequestFormParams = {
  mode: 'form',
  message: 'Where do you want to go?',
  requestedSchema: {
    type: 'object',
    properties: {
      city: { type: 'string', title: 'City', minLength: 2 },
      nights: { type: 'integer', minimum: 1, default: 2 },
      seat: { type: 'string', enum: ['window', 'aisle'], default: 'aisle' },
    },
    required: ['city'],
  },
};

/** A server that uses all that the protocol offers to servers, made with the official SDK. */
export function createRichServer(): McpServer {
  const server = new McpServer({ name: 'rich', version: '2.0.0' }, { capabilities: { logging: {} }, instructions: 'Look at the timetable before you book.' });
  addQuestions(server);
  addResources(server);
  addPrompts(server);
  return server;
}

function addResources(server: McpServer): void {
  server.registerResource('timetable', 'trains://timetable', { title: 'Timetable', mimeType: 'text/plain' }, ({ href }) => ({
    contents: [{ uri: href, text: 'Oslo 9:05' }],
  }));
  server.registerResource('logo', 'trains://logo', { mimeType: 'image/png' }, ({ href }) => ({
    contents: [{ uri: href, mimeType: 'image/png', blob: 'aW1hZ2U=' }],
  }));
  server.registerResource(
    'train',
    new ResourceTemplate('trains://train/{number}', { list: undefined }),
    { description: 'One train.' },
    ({ href }, { number }) => ({
      contents: [{ uri: href, text: `Train ${String(number)}` }],
    }),
  );
}

function addPrompts(server: McpServer): void {
  server.registerPrompt('plan', { description: 'Plans a journey.', argsSchema: { to: z.string() } }, ({ to }) => ({
    messages: [
      { role: 'user', content: { type: 'text', text: `Plan a journey to ${to}.` } },
      { role: 'assistant', content: { type: 'text', text: 'By train?' } },
    ],
  }));
}

function addQuestions(server: McpServer): void {
  const text = (value: unknown) => ({ content: [{ type: 'text' as const, text: JSON.stringify(value) }] });
  server.registerTool('book', { description: 'Asks where to go.', inputSchema: {} }, async (_input, { requestId, signal }) =>
    text(await server.server.elicitInput(FORM, { relatedRequestId: requestId, signal, timeout: 600_000 })),
  );
  // Its question comes by itself, not with the answer to the call.
  server.registerTool('book_aside', { description: 'Asks where to go.', inputSchema: {}, annotations: { readOnlyHint: true } }, async () =>
    text(await server.server.elicitInput(FORM, { timeout: 600_000 })),
  );
  server.registerTool('pay', { description: 'Asks to open a page.', inputSchema: {} }, async (_input, { requestId }) => {
    const params: ElicitRequestURLParams = { mode: 'url', message: 'Pay there.', url: 'https://pay.example/42', elicitationId: 'pay-42' };
    return text(await server.server.elicitInput(params, { relatedRequestId: requestId, timeout: 600_000 }));
  });
  server.registerTool('hurry', { description: 'Asks, and soon wants no answer.', inputSchema: {} }, async (_input, { requestId }) => {
    const reason = await server.server.elicitInput(FORM, { relatedRequestId: requestId, timeout: 1_500 }).catch((error: Error) => error.message);
    return text(reason);
  });
  let visits = 0;
  server.registerTool('locked', { description: 'Works once a page was opened.', inputSchema: {} }, async () => {
    visits += 1;
    const params: ElicitRequestURLParams = { mode: 'url', message: 'Log in.', url: 'https://login.example/', elicitationId: `login-${visits}` };
    if (visits === 1) throw new UrlElicitationRequiredError([params]);
    return text(visits);
  });
  server.registerTool('chat', { description: 'Logs.', inputSchema: {} }, async () => {
    await server.sendLoggingMessage({ level: 'debug', data: 'too much' });
    await server.sendLoggingMessage({ level: 'critical', logger: 'rails', data: { at: 'Oslo\u202e' } });
    return text('logged');
  });
  server.registerTool('think', { description: 'Asks the model what it is given.', inputSchema: { params: z.any() } }, async ({ params }, { requestId }) =>
    text(await server.server.createMessage(params, { relatedRequestId: requestId, timeout: 600_000 }).catch((error: Error) => error.message)),
  );
  server.registerTool('odd', { description: 'Asks what it is given.', inputSchema: { params: z.any() } }, async ({ params }, { requestId }) =>
    text(await server.server.elicitInput(params, { relatedRequestId: requestId }).catch((error: Error) => error.message)),
  );
}

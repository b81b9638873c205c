import {
  acceptedContent,
  completable,
  inputRequired,
  McpServer,
  ResourceTemplate,
  type CallToolResult,
  type InputRequiredResult,
  type InputRequiredSpec,
  type McpRequestContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';

/** What all instances of the server share: it makes one for each request. */
export interface Shared {
  calls: string[];
  /** Tools of the list, in addition to the others. */
  more: number;
  cancelled: number;
  /** The content of `tide:now`. */
  tide: string;
}

export const freshShared = (): Shared => ({ calls: [], more: 0, cancelled: 0, tide: 'low' });

const text = (said: unknown) => ({ content: [{ type: 'text' as const, text: typeof said === 'string' ? said : JSON.stringify(said) }] });
const CITY = { type: 'object' as const, properties: { city: { type: 'string' as const, title: 'City' } }, required: ['city'] };
const form = (message = 'Which city?') => inputRequired.elicit({ message, requestedSchema: CITY });
const question = (said: string) => inputRequired.createMessage({ messages: [{ role: 'user', content: { type: 'text', text: said } }], maxTokens: 50 });
const state = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64');

/** A server that uses all of the revision 2026-07-28. It has no memory but `shared`. */
export function createNewerServer(shared: Shared, { era }: Pick<McpRequestContext, 'era'>): McpServer {
  const capabilities = { logging: {}, tools: { listChanged: true }, resources: { subscribe: true, listChanged: true }, prompts: { listChanged: true } };
  const server = new McpServer({ name: 'newer', version: '7' }, { capabilities, instructions: 'Ask for the tide.' });
  const tool = (name: string, run: (input: never, ctx: never) => Promise<CallToolResult | InputRequiredResult>) =>
    server.registerTool(name, { description: name, inputSchema: z.looseObject({}) }, (input, ctx) => run(input as never, ctx as never));
  const asks = (name: string, run: (round: number, ctx: Round) => InputRequiredSpec | string) =>
    tool(
      name,
      async (_input: unknown, { mcpReq: { inputResponses, requestState } }: { mcpReq: { inputResponses?: never; requestState: () => string | undefined } }) => {
        const held = requestState();
        const round = held === undefined ? 0 : (JSON.parse(Buffer.from(held, 'base64').toString()) as number);
        shared.calls.push(`${name} ${round}`);
        const next = run(round, { answers: inputResponses });
        return typeof next === 'string' ? text(next) : inputRequired({ ...next, requestState: next.requestState ?? state(round + 1) });
      },
    );

  tool('era', async () => text(era));
  tool('echo', async (input: unknown) => text(input));
  asks('ask', (round, { answers }) => (round === 0 ? { inputRequests: { where: form() } } : JSON.stringify(answers)));
  asks('ask_twice', (round, { answers }) => {
    if (round === 0) return { inputRequests: { one: form('First city?'), two: form('Second city?') } };
    if (round === 1) return { inputRequests: { three: form('Third city?') }, requestState: state(2) };
    return String(acceptedContent<{ city?: string }>(answers, 'three')?.city);
  });
  asks('ask_page', (round, { answers }) =>
    round === 0 ? { inputRequests: { page: inputRequired.elicitUrl({ message: 'Pay', url: 'https://pay.example/1' }) } } : JSON.stringify(answers),
  );
  asks('think', (round, { answers }) => (round === 0 ? { inputRequests: { thought: question('How high is the tide?') } } : JSON.stringify(answers)));
  asks('busy', (round) => (round < 3 ? {} : 'not busy any more'));
  asks('endless', () => ({}));
  asks('endless_forms', (round) => ({ inputRequests: { where: form(`City ${round}?`) } }));
  asks('big_state', () => ({ requestState: 'x'.repeat(300_000) }));
  asks('many', () => ({ inputRequests: Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`ask ${at}`, form()])) }));
  server.registerTool(
    'ship',
    { description: 'ship', inputSchema: z.object({ port: z.string().meta({ 'x-mcp-header': 'Port' }), cargo: z.string() }) },
    async ({ port, cargo }) => text(`${cargo} to ${port}`),
  );
  server.registerTool(
    'measures',
    { description: 'measures', inputSchema: z.object({}), outputSchema: z.object({ levels: z.array(z.number()) }) },
    async () => ({
      content: [{ type: 'text', text: '[1,2]' }],
      structuredContent: { levels: [1, 2] },
    }),
  );
  tool(
    'report',
    async (
      _input: unknown,
      ctx: { mcpReq: { log: (level: string, data: string) => Promise<void>; notify: (n: object) => Promise<void>; _meta?: { progressToken?: unknown } } },
    ) => {
      await ctx.mcpReq.log('warning', 'the lamp is dim');
      await ctx.mcpReq.notify({
        method: 'notifications/progress',
        params: { progressToken: ctx.mcpReq._meta?.progressToken, progress: 1, total: 2, message: 'half way' },
      });
      return text('reported');
    },
  );
  tool('slow', async (_input: unknown, { mcpReq: { signal } }: { mcpReq: { signal: AbortSignal } }) => {
    shared.calls.push('slow');
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    shared.cancelled += 1;
    return text('too late');
  });
  tool('fails', async () => ({ ...text('it is broken'), isError: true }));
  for (let at = 0; at < shared.more; at += 1) tool(`more_${at}`, async () => text(at));

  server.registerResource('now', 'tide:now', { title: 'The tide' }, async (uri) => ({ contents: [{ uri: uri.href, text: shared.tide }] }));
  server.registerResource('at', new ResourceTemplate('tide:{place}', { list: undefined }), {}, async (uri) => ({
    contents: [{ uri: uri.href, text: 'unknown' }],
  }));
  server.registerPrompt('plan', { description: 'Plans', argsSchema: z.object({ town: completable(z.string(), () => ['Oslo', 'Bergen']) }) }, ({ town }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Plan for ${town}` } }],
  }));
  return server;
}

interface Round {
  answers: Parameters<typeof acceptedContent>[0];
}

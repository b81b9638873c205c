import { writeFile } from 'node:fs/promises';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { CallToolRequestSchema, ListToolsRequestSchema, type CallToolResult, type Tool } from '@modelcontextprotocol/sdk/types.js';

const object = (properties: NonNullable<Tool['inputSchema']['properties']> = {}, required: string[] = []): Tool['inputSchema'] => ({
  type: 'object',
  properties,
  required,
});

/** A server made with the official SDK. `pid` and `secret` are what its tools tell of the process that it is in. */
export function createFixtureServer({ pid, secret }: { pid: number; secret: string }): Server {
  const server = new Server({ name: 'fixture', version: '1.2.3' }, { capabilities: { tools: { listChanged: true } } });
  let count = 0;
  const tools: Tool[] = [
    {
      name: 'add',
      title: 'Adder',
      description: 'Adds two numbers.',
      inputSchema: { $schema: 'http://json-schema.org/draft-07/schema#', ...object({ a: { type: 'number' }, b: { type: 'number' } }, ['a', 'b']) },
      outputSchema: object({ sum: { type: 'number' } }, ['sum']),
      annotations: { readOnlyHint: true, idempotentHint: true, destructiveHint: false, openWorldHint: false },
    },
    { name: 'about user', description: 'Repeats who it is about.', inputSchema: object({ user_id: { type: 'string' } }) },
    { name: 'count', description: 'Counts its calls.', inputSchema: object(), annotations: { destructiveHint: true } },
    { name: 'show', description: 'Shows contents of every type.', inputSchema: object() },
    { name: 'about_itself', description: 'Tells its process and its secret.', inputSchema: object() },
    {
      name: 'slow',
      description: 'Takes as long as it is told, leaves a file as a mark, and tells its progress.',
      inputSchema: object({ ms: { type: 'number' }, mark: { type: 'string' } }),
    },
    { name: 'refuse', description: 'Fails.', inputSchema: object() },
    { name: 'lies', description: 'Breaks its own schema.', inputSchema: object(), outputSchema: object({ sum: { type: 'number' } }, ['sum']) },
    { name: 'grow', description: 'Gets one more tool.', inputSchema: object() },
    { name: 'die', description: 'Ends its process.', inputSchema: object() },
    { name: 'wrong', description: 'Has no usable schema.', inputSchema: { type: 'object', properties: 7 as never } },
  ];
  const text = (value: unknown): CallToolResult => ({ content: [{ type: 'text', text: String(value) }] });
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) =>
    // Two pages.
    params?.cursor === undefined ? { tools: tools.slice(0, 4), nextCursor: '4' } : { tools: tools.slice(4) },
  );
  // oxlint-disable-next-line complexity -- one case for each tool
  server.setRequestHandler(CallToolRequestSchema, async ({ params: { name, arguments: given = {}, _meta } }, { sendNotification, signal }) => {
    const takeTime = async (ms: number, progressToken: string | number | undefined): Promise<CallToolResult> => {
      if (progressToken !== undefined) {
        await sendNotification({ method: 'notifications/progress', params: { progressToken, progress: 1, total: 2, message: 'half way' } });
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        const stop = () => {
          clearTimeout(timer);
          count += 100;
          resolve();
        };
        signal.addEventListener('abort', stop, { once: true });
      });
      return text('done');
    };
    switch (name) {
      case 'add':
        return { ...text('three'), structuredContent: { sum: Number(given['a']) + Number(given['b']) } };
      case 'about user':
        return text(given['user_id']);
      case 'count':
        return text((count += 1));
      case 'show':
        return {
          content: [
            { type: 'text', text: 'all' },
            { type: 'image', mimeType: 'image/png', data: 'aW1hZ2U=' },
            { type: 'audio', mimeType: 'audio/wav', data: 'YXVkaW8=' },
            { type: 'resource', resource: { uri: 'file:///notes.txt', text: 'a note' } },
            { type: 'resource', resource: { uri: 'file:///notes.bin', mimeType: 'application/x-note', blob: 'YmxvYg==' } },
            { type: 'resource_link', uri: 'https://notes.example/1', name: 'note one' },
          ],
        };
      case 'about_itself':
        return text(JSON.stringify({ pid, secret, variables: Object.keys(process.env) }));
      case 'slow':
        if (given['mark'] !== undefined) await writeFile(given['mark'] as string, '');
        return takeTime(Number(given['ms']), _meta?.progressToken);
      case 'refuse':
        return { ...text('It is closed.'), isError: true };
      case 'lies':
        return { content: [], structuredContent: { sum: 'many' } };
      case 'grow':
        tools.push({ name: `grown${tools.length}`, description: 'A new one.', inputSchema: object() });
        await server.sendToolListChanged();
        return text('grown');
      case 'die':
        return process.exit(3);
      default:
        return text(`called ${name}`);
    }
  });
  return server;
}

import type { NewPlugin } from '../shared/plugin-dialect.ts';

/** A server of the Model Context Protocol that counts words. */
export function mcpServer(id: string): Record<string, string> {
  return { 'package.json': packageFile(id), 'server.mjs': server(id), 'server.test.mjs': TEST };
}

export function nextSteps({ id, directory, test, fromAgents }: NewPlugin): string[] {
  return [
    `Install it:  npm install --prefix ${directory}`,
    `Test it:     node --test ${test}`,
    `Use it:      in the file of an agent: mcp: { ${id}: { command: node, args: [server.mjs], directory: ${fromAgents}, where: host } }`,
    `                                      tools: ['${id}:*']`,
    `Allow it:    LONGSHORE_HOST_PLUGINS=mcp:${id} for the worker`,
  ];
}

const packageFile = (id: string) => `{
  "name": "${id}",
  "version": "0.1.0",
  "private": true,
  "type": "module",
  "dependencies": { "@modelcontextprotocol/sdk": "^1.32.0", "zod": "^4.0.0" }
}
`;

const server = (id: string) => `import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';

const server = new McpServer({ name: '${id}', version: '0.1.0' });

server.registerTool(
  'count',
  {
    description: 'Counts the words of a text.',
    inputSchema: { text: z.string().max(100_000).describe('Text whose words are counted') },
    outputSchema: { words: z.int() },
    annotations: { readOnlyHint: true },
  },
  ({ text }) => {
    const words = text.split(/\\s+/).filter((word) => word !== '').length;
    return { content: [{ type: 'text', text: String(words) }], structuredContent: { words } };
  },
);

// stdout belongs to the protocol: write what people should read with console.error.
await server.connect(new StdioServerTransport());
`;

const TEST = `import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

async function connect(t) {
  const client = new Client({ name: 'test', version: '0.1.0' });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [join(import.meta.dirname, 'server.mjs')] }));
  t.after(() => client.close());
  return client;
}

test('counts words', async (t) => {
  const client = await connect(t);
  const { structuredContent } = await client.callTool({ name: 'count', arguments: { text: 'one or a two' } });
  assert.deepEqual(structuredContent, { words: 4 });
});

test('refuses what is no text', async (t) => {
  const client = await connect(t);
  const { isError, content } = await client.callTool({ name: 'count', arguments: { text: 7 } });
  assert.equal(isError, true);
  assert.match(content[0].text, /expected string, received number/);
});
`;

// A server of the Model Context Protocol, for bench/servers/server-request.ts: it answers each request at once.
const { createInterface } = require('node:readline');

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined) return;
  const about = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'echo', version: '1' } };
  const result = method === 'initialize' ? about : { content: [{ type: 'text', text: 'done' }] };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);
});

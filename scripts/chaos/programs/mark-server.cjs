// A server of MCP without any package, so that it runs in a bare sandbox. Its one tool leaves a line in a file.
const { appendFileSync } = require('node:fs');
const { createInterface } = require('node:readline');

const inputSchema = { type: 'object', properties: { label: { type: 'string' } }, required: ['label'], additionalProperties: false };
const TOOLS = [{ name: 'mark', description: 'Leaves a line in the sandbox.', inputSchema }];
const LATER_MS = 300;

const send = (id, result) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);

/** Takes effect in the middle of its time. */
function mark(id, { label }) {
  setTimeout(() => {
    appendFileSync('/home/user/log', `${label}\n`);
    setTimeout(() => send(id, { content: [{ type: 'text', text: `marked ${label}` }] }), LATER_MS);
  }, LATER_MS);
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  if (method === 'tools/call') return mark(id, params.arguments);
  if (method === 'tools/list') return send(id, { tools: TOOLS });
  if (method !== 'initialize') return send(id, {});
  const { protocolVersion } = params;
  send(id, { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'marks', version: '1.0.0' } });
});

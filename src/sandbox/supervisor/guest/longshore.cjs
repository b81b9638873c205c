/**
 * Calls the conversation's tools from code in the sandbox; every call is a promise.
 *
 *     import { tools } from 'longshore';
 *     await tools.weather.lookup({ city: 'Oslo' });       // plugin and tool; also tools['weather:lookup']
 *
 * `await describeTools()` gives what there is. A tool that fails rejects with a `ToolError`, whose `code` says how.
 */
const { randomBytes } = require('node:crypto');
const net = require('node:net');

const LIST = 'longshore:tools';

class ToolError extends Error {
  constructor(message, code = 'TOOL_FAILED') {
    super(message);
    this.name = 'ToolError';
    this.code = code;
  }
}

const waiting = new Map();
let connection;
let listed;

/** One connection for all calls; it keeps the process alive only while something waits. */
function connect() {
  if (!process.env.LONGSHORE_TOOLS) throw new ToolError('tools can be called only by code that shell:run or code:run started', 'NOT_ALLOWED');
  if (connection && !connection.destroyed) return connection;
  const opened = net.connect(process.env.LONGSHORE_TOOLS);
  let incoming = Buffer.alloc(0);
  opened.on('data', (chunk) => {
    incoming = incoming.length === 0 ? chunk : Buffer.concat([incoming, chunk]);
    while (incoming.length >= 4 && incoming.length >= 4 + incoming.readUInt32BE(0)) {
      const end = 4 + incoming.readUInt32BE(0);
      settle(JSON.parse(incoming.toString('utf8', 4, end)));
      incoming = incoming.subarray(end);
    }
  });
  opened.on('error', () => undefined);
  opened.on('close', () => {
    if (connection === opened) connection = undefined;
    for (const [id, call] of waiting) if (call.opened === opened) settle({ id, error: { message: 'the connection to the tools was closed', code: 'CLOSED' } });
  });
  connection = opened;
  return opened;
}

function settle(answer) {
  // What is said of no call in particular (a frame that was too large to be read) is said of all that wait.
  const calls = answer.id === null ? [...waiting.keys()] : [answer.id];
  for (const id of calls) {
    const call = waiting.get(id);
    if (!call) continue;
    waiting.delete(id);
    if (answer.error) call.reject(new ToolError(answer.error.message, answer.error.code));
    else call.resolve(answer.ok);
  }
  if (waiting.size === 0) connection?.unref();
}

function call(tool, input = {}) {
  return new Promise((resolve, reject) => {
    const opened = connect();
    const id = randomBytes(16).toString('hex');
    const body = Buffer.from(JSON.stringify({ token: process.env.LONGSHORE_TOOLS_TOKEN ?? '', id, tool, arguments: input }));
    const length = Buffer.alloc(4);
    length.writeUInt32BE(body.length);
    waiting.set(id, { resolve, reject, opened });
    opened.ref();
    opened.write(Buffer.concat([length, body]));
  });
}

/** What may be called is asked for once by each piece of code. */
async function describeTools() {
  const token = process.env.LONGSHORE_TOOLS_TOKEN;
  if (listed?.token !== token) listed = { token, specs: call(LIST) };
  return listed.specs;
}

async function callByPath(path, input) {
  const specs = await describeTools();
  const known = specs.map(({ id }) => id);
  const isNamed = (id) => {
    const [plugin, tool] = id.split(':').map(toName);
    return path.length === 2 ? plugin === path[0] && tool === path[1] : id === path[0] || `${plugin}_${tool}` === path[0] || tool === path[0];
  };
  const found = known.filter(isNamed);
  const exact = found.length === 1 ? found[0] : found.find((id) => id === path[0]);
  if (exact !== undefined) return call(exact, input);
  const problem = found.length > 1 ? `${path[0]} could be any of ${found.join(', ')}` : `no tool ${path.join('.')}; there are ${known.join(', ') || 'none'}`;
  throw new ToolError(problem, 'TOOL_NOT_FOUND');
}

function toName(text) {
  return text.replaceAll(/[^\p{L}\p{N}_$]/gu, '_');
}

/** Names are looked up when they are called, so that reading one costs nothing and `await tools` is no call. */
function named(path) {
  return new Proxy((input) => callByPath(path, input), {
    get: (target, name) => (typeof name !== 'string' || path.length === 2 || name === 'then' ? Reflect.get(target, name) : named([...path, name])),
  });
}

exports.ToolError = ToolError;
exports.call = call;
exports.describeTools = describeTools;
exports.tools = new Proxy({}, { get: (_target, name) => (typeof name !== 'string' || name === 'then' ? undefined : named([name])) });

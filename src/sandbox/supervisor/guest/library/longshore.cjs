/**
 * Calls the conversation's tools from code in the sandbox; every call is a promise.
 *
 *     import { tools } from 'longshore';
 *     await tools.weather.lookup({ city: 'Oslo' });       // plugin and tool; also tools['weather:lookup'], and lookup('Oslo') in order
 *
 * `await describeTools()` lists the tools. A tool that fails rejects with a `ToolError`; its `code` says how.
 */
const { randomBytes } = require('node:crypto');
const net = require('node:net');
const { argumentsOf, problemOf } = require('./arguments.cjs');
const { ambiguity, bareNames, toName } = require('./names.cjs');

const LIST = 'longshore:tools';
const LARGEST = 1_000_000;

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
    for (const [id, call] of waiting) {
      if (call.opened !== opened) continue;
      // Closed while it was idle. Because of the id, no call is run twice.
      if (call.reused) send(id, call);
      else settle({ id, error: { message: 'the connection to the tools was closed', code: 'CLOSED' } });
    }
  });
  connection = opened;
  return opened;
}

function settle(answer) {
  // An error without a call (a frame that was too large to be read) is the error of all waiting calls.
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

function call(tool, input) {
  return new Promise((resolve, reject) => {
    const problem = problemOf(input);
    if (problem) throw new ToolError(`${tool}: the arguments are not JSON: ${problem}`, 'TOOL_ARGUMENTS_INVALID');
    const id = randomBytes(16).toString('hex');
    const body = Buffer.from(JSON.stringify({ token: process.env.LONGSHORE_TOOLS_TOKEN ?? '', id, tool, arguments: input }));
    // If it were sent, the connection would be closed, with all calls that wait on it.
    if (body.length > LARGEST)
      throw new ToolError(`a call of ${body.length} bytes; at most ${LARGEST} are allowed. Pass the path of a file instead`, 'TOO_LARGE');
    const length = Buffer.alloc(4);
    length.writeUInt32BE(body.length);
    send(id, { resolve, reject, frame: Buffer.concat([length, body]) });
  });
}

function send(id, { resolve, reject, frame }) {
  const reused = connection !== undefined && !connection.destroyed;
  const opened = connect();
  waiting.set(id, { resolve, reject, frame, opened, reused });
  opened.ref();
  opened.write(frame);
}

/** Each piece of code asks once which tools it may call. */
async function describeTools() {
  const token = process.env.LONGSHORE_TOOLS_TOKEN;
  if (listed?.token === token) return listed.specs;
  const asked = { token, specs: call(LIST, {}) };
  listed = asked;
  asked.specs.catch(() => {
    if (listed === asked) listed = undefined;
  });
  return asked.specs;
}

async function callByPath(path, given) {
  const specs = await describeTools();
  const spec = specOf(path, specs);
  if (spec) return call(spec.id, argumentsOf(spec, given));
  const meant = path.length === 1 ? (bareNames(specs).get(path[0]) ?? []) : [];
  const known = specs.map(({ id }) => id).join(', ') || 'none';
  const problem = meant.length > 1 ? ambiguity(path[0], meant) : `no tool ${path.join('.')}; there are ${known}`;
  throw new ToolError(problem, 'TOOL_NOT_FOUND');
}

function specOf(path, specs) {
  if (path.length === 2) return specs.find(({ id }) => id.split(':').map(toName).join(':') === path.join(':'));
  const [id, ...others] = bareNames(specs).get(path[0]) ?? [path[0]];
  return others.length === 0 ? specs.find((spec) => spec.id === id) : undefined;
}

/** Names are looked up when they are called, so reading one costs nothing and `await tools` is not a call. */
function named(path) {
  return new Proxy((...given) => callByPath(path, given), {
    get: (target, name) => (typeof name !== 'string' || path.length === 2 || name === 'then' ? Reflect.get(target, name) : named([...path, name])),
  });
}

exports.ToolError = ToolError;
exports.call = call;
exports.describeTools = describeTools;
exports.tools = new Proxy({}, { get: (_target, name) => (typeof name !== 'string' || name === 'then' ? undefined : named([name])) });

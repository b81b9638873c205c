/**
 * Runs JavaScript and tells what came of it, as the guest; the same in both directions as interpreter.py. `import` statements become
 * dynamic imports, and `await` is allowed at the top level.
 */
const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const { spawnSync } = require('node:child_process');
const { PassThrough, Writable } = require('node:stream');
const repl = require('node:repl');
const util = require('node:util');
const vm = require('node:vm');
const { createRequire } = require('node:module');

const { partCharacters: MAX_PART, toldBytes: MAX_TOLD } = require('../protocol.json').code;
/** Connections that have not said yet what they want. */
const MAX_SILENT = 64;
/** The longest text that a string can hold here. */
const MAX_REQUEST = 512 * 1024 * 1024 - 25;
const IMPORT = /^([ \t]*)import\s+(?:([\w$*{}\s,]+?)\s+from\s+)?(['"])([^'"\n]+)\3(?:\s+with\s+\{[^}]*\})?[ \t]*;?/gm;

let tell = () => undefined;
let interrupted = () => undefined;
const silent = new Set();
let count = 0;
/** Whether something of this piece of code was not told, or not whole. */
let cut = false;
/** Characters of what was not told at all. */
let untold = 0;

const server = repl.start({
  prompt: '',
  input: new PassThrough(),
  output: new Writable({ write: (_chunk, _encoding, done) => done() }),
  terminal: false,
  ignoreUndefined: true,
});
// The console's own answer to an error would be to print it.
server._domain?.removeAllListeners('error');
server._domain?.on('error', (error) => interrupted(error));
server.context.console = consoleOf();
server.context.display = (...values) => values.forEach(show);
process.on('uncaughtException', (error) => interrupted(error));
process.on('unhandledRejection', (error) => interrupted(error));
// Heeded where the code waits; code that never does is ended with its context, by whoever runs out of patience.
process.on('SIGINT', () => interrupted(namedError('Interrupted', 'the code was interrupted')));

async function run(request, teller) {
  count += 1;
  tell = limited(teller);
  const started = Date.now();
  tell('started', { pid: process.pid, count });
  let error;
  let leave = () => undefined;
  cut = false;
  untold = 0;
  try {
    leave = enter(request);
    // Modules are looked for where the code works.
    server.context.require = createRequire(path.join(process.cwd(), 'code.js'));
    const code = rewriteImports(request.language === 'typescript' ? withoutTypes(request.code) : request.code);
    if (process.env.LONGSHORE_GUEST) await offerTools(code);
    const value = await evaluate(code, `<code ${count}>`);
    if (value !== undefined && !request.code.trimEnd().endsWith(';')) show(value);
  } catch (problem) {
    error = describe(problem);
  }
  leave();
  tell('ended', { durationMs: Date.now() - started, ...(error && { error }), ...(cut && { cut, untold }) });
}

/** Directory and environment of one piece of code; what the code changes itself stays. Returns what goes back. */
function enter({ cwd, env = {} }) {
  const directory = process.cwd();
  if (cwd) process.chdir(cwd);
  const there = process.cwd();
  const before = Object.fromEntries(Object.keys(env).map((name) => [name, process.env[name]]));
  Object.assign(process.env, env);
  return () => {
    for (const [name, value] of Object.entries(before)) {
      if (process.env[name] !== env[name]) continue;
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
    if (cwd && process.cwd() === there) process.chdir(directory);
  };
}

/** Names that nothing else has mean tools, where there are such tools; a context looks names up only in itself, so that they have to be there. */
async function offerTools(code) {
  const { tools, describeTools } = require(`${process.env.LONGSHORE_GUEST}/longshore.cjs`);
  const { ambiguous, bareNames, isAmbiguous, namesIn } = require(`${process.env.LONGSHORE_GUEST}/names.cjs`);
  server.context.tools ??= tools;
  const unknown = namesIn(code).filter((name) => !(name in server.context) || isAmbiguous(server.context[name]));
  if (unknown.length === 0) return;
  const specs = await describeTools().catch(() => []);
  const known = bareNames(specs);
  for (const name of unknown) {
    const ids = known.get(name) ?? [];
    if (ids.length > 0) server.context[name] = ids.length > 1 ? ambiguous(name, ids) : tools[name];
    // It was so for an earlier piece of code.
    else if (name in server.context) delete server.context[name];
  }
}

function limited(teller) {
  // The end is told in any case.
  let left = MAX_TOLD;
  return (type, fields) => {
    const size = JSON.stringify(fields).length;
    left -= size;
    if (left >= 0 || type === 'started' || type === 'ended') teller(type, fields);
    else {
      cut = true;
      untold += size;
    }
  };
}

function evaluate(code, name) {
  return new Promise((resolve, reject) => {
    interrupted = reject;
    // An object literal at the front is meant as a value, as in every console.
    const source = /^\s*\{/.test(code) && isExpression(code) ? `(${code.trim().replace(/;+$/, '')})` : code;
    server.eval(`${source}\n`, server.context, name, (error, value) => (error ? reject(error.err ?? error) : resolve(value)));
  }).finally(() => {
    interrupted = () => undefined;
  });
}

function withoutTypes(code) {
  const { status, stdout, stderr, error } = spawnSync('esbuild', ['--loader=ts', '--format=esm', '--target=es2022', '--log-level=error'], {
    input: code,
    encoding: 'utf8',
  });
  if (error) throw namedError('Unsupported', `TypeScript needs esbuild in the sandbox image: ${error.message}`);
  if (status !== 0) throw namedError('SyntaxError', stderr.trim());
  return stdout;
}

function isExpression(code) {
  try {
    void new vm.Script(`(${code.trim().replace(/;+$/, '')}\n)`);
    return true;
  } catch {
    return false;
  }
}

function rewriteImports(code) {
  return code.replace(IMPORT, (_whole, indent, what, _quote, name) => {
    const module = `await import(${JSON.stringify(resolveModule(name))})`;
    if (what === undefined) return `${indent}${module};`;
    const [, first, rest = ''] = /^\s*([\w$]+)?\s*,?\s*([\s\S]*)$/.exec(what) ?? [];
    const parts = [];
    if (first) parts.push(`var ${first} = (${module}).default;`);
    const star = /^\*\s+as\s+([\w$]+)/.exec(rest);
    if (star) parts.push(`var ${star[1]} = ${module};`);
    else if (rest.startsWith('{')) parts.push(`var ${rest.replaceAll(/\s+as\s+/g, ': ')} = ${module};`);
    return indent + parts.join(' ');
  });
}

function resolveModule(name) {
  if (name.startsWith('.')) return `file://${path.resolve(name)}`;
  try {
    const found = createRequire(path.join(process.cwd(), 'code.js')).resolve(name);
    return path.isAbsolute(found) ? `file://${found}` : found;
  } catch {
    return name;
  }
}

function show(value) {
  if (value === undefined) return;
  const data = { 'text/plain': shortened(inspect(value)) };
  const isPlain =
    value !== null && typeof value === 'object' && (Array.isArray(value) || [null, 'Object'].includes(Object.getPrototypeOf(value)?.constructor?.name ?? null));
  if (isPlain) addPart(data, 'application/json', () => JSON.parse(JSON.stringify(value)));
  for (const [mime, method] of [
    ['text/html', 'toHTML'],
    ['text/markdown', 'toMarkdown'],
    ['image/svg+xml', 'toSVG'],
    ['image/png', 'toPNG'],
  ]) {
    if (typeof value?.[method] === 'function') addPart(data, mime, () => portable(value[method]()));
  }
  tell('result', { data });
}

function shortened(text) {
  cut ||= text.length > MAX_PART;
  return text.slice(0, MAX_PART);
}

function addPart(data, mime, make) {
  try {
    const part = make();
    if (part === undefined) return;
    if ((typeof part === 'string' ? part : JSON.stringify(part)).length <= MAX_PART) data[mime] = part;
    else cut = true;
  } catch {
    // A value that cannot be shown in that way has others.
  }
}

function inspect(value) {
  try {
    return typeof value === 'string' ? value : util.inspect(value);
  } catch (error) {
    return `<value that cannot be shown: ${String(error)}>`;
  }
}

function portable(part) {
  return part instanceof Uint8Array ? Buffer.from(part).toString('base64') : part;
}

function describe(problem) {
  if (util.types.isNativeError(problem) || typeof problem?.message === 'string') {
    const isInterrupt = problem.code === 'ERR_SCRIPT_EXECUTION_INTERRUPTED' || problem.name === 'Interrupted';
    const stack = String(problem.stack ?? problem.message).split('\n');
    return {
      type: isInterrupt ? 'Interrupted' : String(problem.name ?? 'Error'),
      message: String(problem.message),
      traceback: stack.filter((line) => !/^\s+at .*(node:|interpreter\.cjs|new Promise \(<anonymous>\))/.test(line)).join('\n'),
    };
  }
  return { type: 'Error', message: inspect(problem), traceback: inspect(problem) };
}

function namedError(name, message) {
  return Object.assign(new Error(message), { name });
}

function consoleOf() {
  const sink = (stream) => new Writable({ decodeStrings: false, write: (text, _encoding, done) => (tell(stream, { text: String(text) }), done()) });
  return new console.Console({ stdout: sink('stdout'), stderr: sink('stderr') });
}

for (const name of ['stdout', 'stderr']) {
  process[name].write = (chunk, encoding, done) => {
    tell(name, { text: typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString() });
    (typeof encoding === 'function' ? encoding : done)?.();
    return true;
  };
}

function serve(name) {
  const socketPath = path.join(ownDirectory(), `${name}.sock`);
  fs.rmSync(socketPath, { force: true });
  fs.rmSync(`${socketPath}.new`, { force: true });
  let turn = Promise.resolve();
  const listener = net.createServer({ allowHalfOpen: false }, (client) =>
    receive(client, (request) => {
      turn = turn.then(() => serveOne(client, request)).catch(() => client.destroy());
    }),
  );
  listener.listen(`${socketPath}.new`, () => fs.renameSync(`${socketPath}.new`, socketPath));
}

async function serveOne(client, request) {
  if (client.destroyed) return;
  const gone = () => interrupted(namedError('Interrupted', 'whoever had asked for the code is gone'));
  client.on('close', gone);
  await run(request, (type, fields) => client.write(`${JSON.stringify({ type, ...fields })}\n`));
  tell = () => undefined;
  client.off('close', gone);
  client.end();
}

/** Reads the one line that a client sends. Clients that are slow or say nothing do not hold up the others: of too many, the one that came first is dropped. */
function receive(client, onRequest) {
  let parts = [];
  let size = 0;
  silent.add(client);
  if (silent.size > MAX_SILENT) silent.values().next().value.destroy();
  client.on('error', () => undefined);
  client.on('close', () => silent.delete(client));
  client.on('data', (chunk) => {
    if (!silent.has(client)) return;
    parts.push(chunk);
    size += chunk.length;
    if (size > MAX_REQUEST) client.destroy();
    else if (chunk.at(-1) === 10) {
      silent.delete(client);
      const request = parseRequest(Buffer.concat(parts));
      parts = [];
      if (request === undefined) client.destroy();
      else onRequest(request);
    }
  });
}

/** Undefined for what none of our clients has sent. */
function parseRequest(line) {
  try {
    const request = JSON.parse(line.toString());
    return typeof request?.code === 'string' ? request : undefined;
  } catch {
    return undefined;
  }
}

function ownDirectory() {
  const directory = process.env.LONGSHORE_CODE || `/tmp/.longshore-code-${process.getuid()}`;
  fs.mkdirSync(directory, { mode: 0o700, recursive: true });
  const status = fs.lstatSync(directory);
  // Other users of the sandbox could have made it before, to be given what our clients send.
  if (status.isDirectory() && status.uid === process.getuid() && (status.mode & 0o077) === 0) return directory;
  throw new Error(`${directory} is not a directory of this user alone; remove it`);
}

/** A pipe that is full takes a part, or nothing for now. */
function writeAll(text) {
  for (let rest = Buffer.from(text); rest.length > 0;) {
    try {
      rest = rest.subarray(fs.writeSync(1, rest));
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
    }
  }
}

async function once() {
  process.on('SIGTERM', () => process.emit('SIGINT'));
  const request = JSON.parse(fs.readFileSync(0, 'utf8'));
  await run(request, (type, fields) => writeAll(`${JSON.stringify({ type, ...fields })}\n`));
  process.exit(0);
}

if (process.argv[2]) serve(process.argv[2]);
else void once();

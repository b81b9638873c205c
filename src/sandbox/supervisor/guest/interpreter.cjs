/**
 * Runs JavaScript and reports its output, results and end, as the guest. Requests and reports are those of interpreter.py. `import` statements become
 * dynamic imports, and `await` is allowed at the top level.
 */
const fs = require('node:fs');
const { PassThrough, Writable } = require('node:stream');
const { StringDecoder } = require('node:string_decoder');
const repl = require('node:repl');
const { hasClosed, listen, takeTurn } = require('./interpreter_clients.cjs');
const { Teller, describe, namedError } = require('./interpreter_output.cjs');
const { requireHere, scriptOf, withValueInFront } = require('./interpreter_source.cjs');

/** Drops reports that belong to no piece of code. */
const SILENT = new Teller(() => undefined);

let teller = SILENT;
let interrupted = () => undefined;
let count = 0;
/** What is written in pieces may be cut within a character. */
const decoders = { stdout: new StringDecoder(), stderr: new StringDecoder() };

const server = repl.start({
  prompt: '',
  input: new PassThrough(),
  output: new Writable({ write: (_chunk, _encoding, done) => done() }),
  terminal: false,
  ignoreUndefined: true,
});
// By default, the console would print an error.
server._domain?.removeAllListeners('error');
server._domain?.on('error', (error) => interrupted(error));
server.context.console = consoleOf();
server.context.display = (...values) => values.forEach((value) => teller.show(value));
process.on('uncaughtException', (error) => interrupted(error));
process.on('unhandledRejection', (error) => interrupted(error));
// Takes effect while the code waits. Code that never waits is ended with its context, when the client has waited long enough.
process.on('SIGINT', () => interrupted(namedError('Interrupted', 'the code was interrupted')));

async function run(request, write) {
  count += 1;
  teller = new Teller(write);
  const started = Date.now();
  const stopped = new Promise((_, reject) => (interrupted = reject));
  stopped.catch(() => undefined);
  teller.tell('started', { count });
  let error;
  let leave = () => undefined;
  try {
    leave = enter(request);
    server.context.require = requireHere();
    const code = scriptOf(request);
    if (process.env.LONGSHORE_GUEST) await Promise.race([offerTools(code), stopped]);
    const value = await Promise.race([evaluate(code, `<code ${count}>`), stopped]);
    if (value !== undefined && !request.code.trimEnd().endsWith(';')) teller.show(value);
  } catch (problem) {
    const described = describe(problem);
    error = described.error;
    teller.cut ||= described.cut;
  }
  interrupted = () => undefined;
  leave();
  tellRest();
  const { cut, untold } = teller;
  teller.tell('ended', { durationMs: Date.now() - started, ...(error && { error }), ...(cut && { cut, untold }) });
  teller = SILENT;
}

/** Sets directory and environment of one piece of code; changes that the code makes itself stay. Returns a function that restores the rest. */
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

/** Binds unused names to the tools of these names. A context looks names up only in itself, so they have to be defined in it. */
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
    // It meant a tool for an earlier piece of code.
    else if (name in server.context) delete server.context[name];
  }
}

function evaluate(code, name) {
  return new Promise((resolve, reject) => {
    server.eval(`${withValueInFront(code)}\n`, server.context, name, (error, value) => (error ? reject(error.err ?? error) : resolve(value)));
  });
}

function consoleOf() {
  const sink = (stream) => new Writable({ decodeStrings: false, write: (text, _encoding, done) => (teller.tell(stream, { text: String(text) }), done()) });
  return new console.Console({ stdout: sink('stdout'), stderr: sink('stderr') });
}

for (const [name, decoder] of Object.entries(decoders)) {
  process[name].write = (chunk, encoding, done) => {
    const text = typeof chunk === 'string' ? decoder.end() + chunk : decoder.write(Buffer.from(chunk));
    if (text !== '') teller.tell(name, { text });
    (typeof encoding === 'function' ? encoding : done)?.();
    return true;
  };
}

/** Half a character is not waited for any more. */
function tellRest() {
  for (const [name, decoder] of Object.entries(decoders)) {
    const text = decoder.end();
    if (text !== '') teller.tell(name, { text });
  }
}

/** Runs one piece of code after the other, in the order of the clients of the context. */
function serve(name) {
  let turn = Promise.resolve();
  const tellServed = listen(name, (client, request) => {
    turn = turn.then(() => serveOne(client, request, tellServed)).catch(() => client.destroy());
  });
}

async function serveOne(client, request, tellServed) {
  if (!(await takeTurn(client))) return;
  tellServed(String(request.client ?? ''));
  const gone = () => interrupted(namedError('Interrupted', 'the client of the code has disconnected'));
  client.on('close', gone);
  await run(request, (line) => client.write(`${line}\n`));
  tellServed('');
  client.off('close', gone);
  client.end();
  // Until the client has hung up, it may still interrupt the code: it does not know yet that it has ended. That must not be the next piece.
  await hasClosed(client);
}

/** A full pipe accepts only a part, or nothing for now. */
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
  await run(request, (line) => writeAll(`${line}\n`));
  process.exit(0);
}

if (process.argv[2]) serve(process.argv[2]);
else void once();

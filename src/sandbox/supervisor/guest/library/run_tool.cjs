/**
 * Runs one call of a plugin's tool, as the guest. The request is a line on stdin: `{ code, call }`. Its messages and its outcome are lines on
 * descriptor 3, which the worker reads; stdout and stderr belong to the tool.
 */
const { readSync, writeSync } = require('node:fs');
const { createRequire } = require('node:module');
const { compileFunction } = require('node:vm');

const OUT = 3;
const MAX_LINE = 16_000_000;
/** How long a tool may clean up after it is cancelled. Milliseconds. */
const FAREWELL = 1_000;
const A_DAY = 86_400_000;

/** Loaded only for a tool that asks the worker for something: loading it takes longer than a small tool. */
const speaker = () => require('./longshore.cjs');

function tell(message) {
  const bytes = Buffer.from(`${JSON.stringify(message)}\n`);
  for (let written = 0; written < bytes.length;) written += writeSync(OUT, bytes, written);
}

/** A worker that was disconnected while it sent the request sends it again: the first complete line counts. */
function readRequest() {
  const chunk = Buffer.alloc(65_536);
  let pending = [];
  for (let size = readSync(0, chunk); size > 0; size = readSync(0, chunk)) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0 && end < size; end = chunk.indexOf(10, start)) {
      const request = parse(Buffer.concat([...pending, chunk.subarray(start, end)]));
      if (request) return request;
      pending = [];
      start = end + 1;
    }
    pending.push(Buffer.from(chunk.subarray(start, size)));
  }
  return undefined;
}

function parse(line) {
  try {
    return JSON.parse(line.toString()) ?? undefined;
  } catch {
    return undefined;
  }
}

function load(code) {
  const module = { exports: {} };
  const parameters = ['module', 'exports', 'require'];
  compileFunction(code, parameters, { filename: 'plugin.js' })(module, module.exports, createRequire(`${process.cwd()}/`));
  return module.exports;
}

function fail(message) {
  tell({ type: 'failed', id: 0, message });
  process.exit(1);
}

async function run({ code, call }) {
  // Keeps the process alive while the tool waits for a promise; the time limit of the tool decides how long it may wait.
  setInterval(() => undefined, A_DAY);
  const ended = new AbortController();
  process.on('SIGTERM', () => {
    ended.abort();
    setTimeout(() => process.exit(143), FAREWELL);
  });
  // Undefined arguments become null, as in JSON.
  const question = (what, args) => JSON.parse(JSON.stringify({ what, args }));
  const line = {
    ask: async (what, args) => speaker().call('longshore:context', question(what, args)),
    tell: (what, text) => tell({ type: 'tell', call: 0, what, text }),
  };
  const outcome = await load(code).run(call, line, ended.signal);
  const size = Buffer.byteLength(JSON.stringify(outcome));
  if (size <= MAX_LINE) return outcome;
  return { type: 'failed', id: 0, message: `its result has ${size} bytes as JSON; at most ${MAX_LINE} are allowed` };
}

process.on('uncaughtException', (error) => fail(`an unhandled error: ${error?.message || String(error)}`));
const request = readRequest();
// There is no request.
if (!request) process.exit(0);
run(request).then(
  (outcome) => {
    tell(outcome);
    process.exit(0);
  },
  (error) => {
    fail(error?.message || String(error));
  },
);

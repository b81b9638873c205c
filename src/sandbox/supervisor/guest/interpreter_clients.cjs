/** Receives the requests of the clients of a context of interpreter.cjs (interpreter_call.py): each is one line of JSON on a socket. */
const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');

/** Connections that have not sent their request yet. */
const MAX_SILENT = 64;
/** For the name of a client's process. */
const CLIENT_BYTES = 64;
/** The longest text that a string can hold here. */
const MAX_REQUEST = 512 * 1024 * 1024 - 25;

const silent = new Set();

/** The socket appears under its name once it can be connected to. Returns a function that says for which client the context works, '' for none. */
function listen(name, onRequest) {
  const socketPath = path.join(ownDirectory(), `${name}.sock`);
  const tellServed = openServed(path.join(ownDirectory(), `${name}.client`));
  fs.rmSync(socketPath, { force: true });
  fs.rmSync(`${socketPath}.new`, { force: true });
  const listener = net.createServer({ allowHalfOpen: false }, (client) => receive(client, (request) => onRequest(client, request)));
  listener.listen(`${socketPath}.new`, () => fs.renameSync(`${socketPath}.new`, socketPath));
  return tellServed;
}

/** `is_left_behind` of guest_socket.py reads it. The file stays open: code may use up descriptors and disk. */
function openServed(file) {
  const fd = fs.openSync(file, fs.constants.O_WRONLY | fs.constants.O_CREAT, 0o600);
  const tell = (client) => {
    try {
      fs.writeSync(fd, Buffer.alloc(CLIENT_BYTES, ' ').fill(client, 0, Buffer.byteLength(client)), 0, CLIENT_BYTES, 0);
    } catch {
      // Without it, code that never waits is not ended when its client was killed.
    }
  };
  tell('');
  return tell;
}

/** Tells a client that its code begins now. False when the client has gone: its code must not begin. */
function takeTurn(client) {
  return new Promise((resolve) => {
    if (client.destroyed) return resolve(false);
    client.once('data', () => resolve(true));
    client.once('close', () => resolve(false));
    client.write(`${JSON.stringify({ type: 'turn', pid: process.pid })}\n`);
  });
}

/** Resolves when the client has hung up, and signals that it has sent before have been taken. */
async function hasClosed(client) {
  if (!client.closed) await new Promise((resolve) => client.once('close', resolve));
  // Node takes signals after all else that has come, in one of the next two rounds of its loop.
  for (let round = 0; round < 2; round += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Reads the one line that a client sends. Clients that are slow or send nothing do not delay the others: when there are too many, the oldest is dropped. */
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

/** Undefined for a request that our client cannot have sent. */
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
  // Other users of the sandbox could have created it before, to receive what our clients send.
  if (status.isDirectory() && status.uid === process.getuid() && (status.mode & 0o077) === 0) return directory;
  throw new Error(`${directory} is not a directory of this user alone; remove it`);
}

module.exports = { hasClosed, listen, takeTurn };

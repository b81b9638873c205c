'use strict';
// Loaded into every Node of a sandbox that may reach hosts: before version 24, Node's fetch and its http and https modules ignore proxy variables.
const heedsThem = Number(process.versions.node.split('.')[0]) >= 24;
const proxyUrl = process.env.HTTPS_PROXY;
const local = new Set(['localhost', '127.0.0.1', '::1', '[::1]']);
if (!heedsThem && proxyUrl) {
  const open = createOpener(new URL(proxyUrl));
  guideAgents(open);
  if (globalThis.fetch) guideFetch(open);
}

/** Creates a function that opens connections to `host:port`: through the proxy, or directly within the sandbox. It calls back with an error or a socket. */
function createOpener(proxy) {
  const net = require('node:net');
  const http = require('node:http');
  return ({ host, port, secure, options }, callback) => {
    const enter = (socket) => (secure ? encrypt(socket, host, options, callback) : callback(null, socket));
    if (local.has(host)) {
      // "localhost" may be either of two addresses, and Node 18 tries the first alone by itself.
      const socket = net.connect({ host: host.replace(/[[\]]/g, ''), port, autoSelectFamily: true });
      settleOnce(socket, 'connect', callback, () => enter(socket));
      return;
    }
    const authority = `${host}:${port}`;
    const request = http.request({ host: proxy.hostname, port: proxy.port, method: 'CONNECT', path: authority, headers: { host: authority }, agent: false });
    settleOnce(request, 'connect', callback, (response, socket) => {
      if (response.statusCode === 200) {
        enter(socket);
      } else {
        socket.destroy();
        callback(new Error(`${authority}: ${response.statusMessage}`));
      }
    });
    request.end();
  };
}

function encrypt(socket, host, options, callback) {
  const { isIP } = require('node:net');
  const named = isIP(host) ? {} : { servername: host };
  const secured = require('node:tls').connect({ ...named, ...options, socket, ALPNProtocols: ['http/1.1'] });
  settleOnce(secured, 'secureConnect', callback, () => callback(null, secured));
}

function settleOnce(emitter, event, onError, onEvent) {
  emitter.once('error', onError);
  emitter.once(event, (...values) => {
    emitter.off('error', onError);
    onEvent(...values);
  });
}

function guideAgents(open) {
  for (const [name, secure] of [
    ['node:http', false],
    ['node:https', true],
  ]) {
    const agent = require(name).globalAgent;
    const direct = agent.createConnection;
    agent.createConnection = (given, callback) => {
      if (given.socketPath) return direct.call(agent, given, callback);
      const { host, port, path: _path, ...options } = given;
      open({ host, port, secure, options }, callback);
      return undefined;
    };
  }
}

/** The library behind fetch is loaded at its first use, so its dispatcher is replaced then. */
function guideFetch(open) {
  const { fetch } = globalThis;
  let guided = false;
  globalThis.fetch = (...parameters) => {
    if (!guided) replaceDispatcher(open);
    guided = true;
    return fetch(...parameters);
  };
}

function replaceDispatcher(open) {
  // Reading it loads the library, which leaves its dispatcher under this symbol.
  void globalThis.Headers;
  const key = Symbol.for('undici.globalDispatcher.1');
  const Agent = globalThis[key]?.constructor;
  if (!Agent) return;
  const connect = ({ hostname, port, protocol, servername }, callback) => {
    const secure = protocol === 'https:';
    open({ host: hostname, port: port || (secure ? 443 : 80), secure, options: servername ? { servername } : {} }, callback);
  };
  globalThis[key] = new Agent({ connect });
}

import type { AddressInfo, Socket } from 'node:net';
import { once } from 'node:events';
import { connect } from 'node:net';
import { pino } from 'pino';
import { createServer } from '../../../src/api/http/create-server.ts';
import { CONNECTIONS } from '../../../src/api/http/limits.ts';
import type { Api, RouteParts } from '../../../src/api/http/route-parts.ts';
import { createOpenStreams } from '../../../src/api/stream/open-streams.ts';
import { STREAM_TIMES } from '../../../src/api/stream/stream-times.ts';
import { addTerminalRoutes } from '../../../src/api/terminals/terminal-routes.ts';
import { deferred } from '../../../src/common/deferred.ts';

/** A caller that leaves while the service still looks for the conversation. */

const CALLER = { keyId: 'key-1', actor: { kind: 'key' as const, id: 'key-1' }, scopes: new Set(), tenantId: 'north' };
const ROW = { conversationId: 'conv_1', tenantId: 'north', userId: 'ada', agentId: 'one', state: 'open', sandboxId: 'sbx_1', hostId: 'host-1', options: {} };
const ASK = [
  'GET /v1/conversations/conv_1/terminals/main HTTP/1.1',
  'host: localhost',
  'connection: Upgrade',
  'upgrade: websocket',
  'sec-websocket-version: 13',
  'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
  '\r\n',
].join('\r\n');

let api: Api;
let streams: RouteParts['streams'];
let looking = deferred<Socket>();
let found = deferred<void>();
let ended = deferred<void>();
let calls: { isAborted: boolean }[] = [];
beforeEach(async () => {
  [looking, found, ended, calls] = [deferred(), deferred(), deferred(), []];
  streams = createOpenStreams({ perOwner: 1, ...STREAM_TIMES });
  api = createServer({ log: pino({ level: 'silent' }), limits: CONNECTIONS, previews: undefined, ended: () => undefined });
  api.decorateRequest('caller');
  api.decorateRequest('held');
  api.addHook('onRequest', async (request) => Object.assign(request, { caller: CALLER, held: [] }));
  api.addHook('onRequest', async ({ raw }) => {
    looking.resolve(raw.socket);
    await found.promise;
  });
  const store = { conversations: { get: async () => ROW }, sandboxes: { ofConversation: async () => ROW } };
  const hosts: RouteParts['hosts'] = {
    async open(_target, _call, signal) {
      const call = { isAborted: signal.aborted };
      calls.push(call);
      signal.throwIfAborted();
      const messages = (async function* () {
        yield { kind: 'json', value: {} };
      })();
      return { sender: {}, messages, abort: () => void (call.isAborted = true) } as unknown as Awaited<ReturnType<RouteParts['hosts']['open']>>;
    },
  };
  const wait: RouteParts['streams']['wait'] = async (owner, work, limit) => {
    try {
      return await streams.wait(owner, work, limit);
    } finally {
      ended.resolve();
    }
  };
  const parts = { store, hosts, streams: { ...streams, wait }, idleMs: 60_000, times: STREAM_TIMES, closing: new AbortController().signal };
  addTerminalRoutes(api, parts as unknown as RouteParts);
  await api.listen({ host: '127.0.0.1', port: 0 });
});
afterEach(() => api.close());

test('who leaves before the terminal is asked for holds no place and no call', async () => {
  const caller = connect((api.server.address() as AddressInfo).port, '127.0.0.1');
  await once(caller, 'connect');
  caller.write(ASK);
  const socket = await looking.promise;
  const gone = new Promise((resolve) => socket.once('close', resolve));
  caller.resetAndDestroy();
  await gone;
  found.resolve();
  await ended.promise;
  expect(() => streams.requireRoom(CALLER.keyId)).not.toThrow();
  expect(calls.every(({ isAborted }) => isAborted)).toBe(true);
}, 10_000);

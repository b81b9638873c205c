import { randomBytes, X509Certificate } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import type { TLSSocket } from 'node:tls';
import { certifyHost } from '../../certificates/certificates.ts';
import { inTimeOr } from '../../common/in-time.ts';
import type { Agent } from '../../contracts/agent.ts';
import { failure } from '../../contracts/errors.ts';
import type { Config } from '../../platform/config.ts';
import type { Logger } from '../../platform/log.ts';
import type { Sandboxes } from '../../sandbox/api/host-sandboxes.ts';
import type { Store } from '../../store/store.ts';
import { CERTIFICATE_DAYS, channelAuthority } from '../channel/authority.ts';
import { CALL_PATH, SERVICE_NAME } from '../channel/calls.ts';
import { answerCall, type AnswerParts } from './answer-call.ts';
import { announceHost } from './announce-host.ts';
import { createVisits } from './visits.ts';

interface ServeParts {
  config: Pick<Config, 'LONGSHORE_HOST_ADDRESS' | 'LONGSHORE_HOST_ID'>;
  store: Pick<Store, 'conversations' | 'imports' | 'sandboxes' | 'sandboxUses' | 'hosts'>;
  sandboxes: Sandboxes;
  agents: ReadonlyMap<string, Agent>;
  log: Logger;
}

/** Calls under way may end within this time when the worker ends. */
const DRAIN_MS = 5_000;
const HEAD_MS = 10_000;
const CONNECTIONS = 2_000;

/**
 * Serves the sandboxes of this host to the HTTP service, which finds it in Postgres. Both show a certificate of the installation's authority.
 * @throws CONFIG_INVALID when it cannot listen at LONGSHORE_HOST_ADDRESS
 */
export async function serveHost({ config, store, sandboxes, agents, log }: ServeParts): Promise<AsyncDisposable> {
  const authority = await channelAuthority(store.hosts);
  const workerId = `worker-${randomBytes(8).toString('hex')}.longshore`;
  const { key, certificate } = certifyHost(workerId, authority, new Date(), { days: CERTIFICATE_DAYS });
  const [stopping, closing] = [new AbortController(), new AbortController()];
  const visits = createVisits({ store, sandboxes, log, stopping: stopping.signal });
  const calls = new Set<Promise<void>>();
  const identity = { key, cert: certificate, ca: authority.certificate, requestCert: true, rejectUnauthorized: true, minVersion: 'TLSv1.3' } as const;
  const server = createServer({ ...identity, headersTimeout: HEAD_MS, handshakeTimeout: HEAD_MS, requestTimeout: 0 }, (request, response) => {
    const parts = { store, sandboxes, agents, visits, log, stopping: stopping.signal, closing: closing.signal };
    const call = answer(parts, request, response).finally(() => calls.delete(call));
    calls.add(call);
  });
  server.maxConnections = CONNECTIONS;
  const address = await listen(server, config.LONGSHORE_HOST_ADDRESS);
  const { fingerprint256: fingerprint } = new X509Certificate(certificate);
  const announced = await announceHost({ hosts: store.hosts, log }, { workerId, hostId: config.LONGSHORE_HOST_ID, address, fingerprint });
  log.info({ address, workerId }, 'the sandboxes of this host are served');
  return {
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await announced[Symbol.asyncDispose]();
      const closed = new Promise((resolve) => server.close(resolve));
      await inTimeOr(Promise.allSettled(calls), DRAIN_MS, undefined);
      closing.abort();
      server.closeAllConnections();
      await Promise.allSettled(calls);
      await closed;
      await visits[Symbol.asyncDispose]();
    },
  };
}

async function answer(parts: AnswerParts, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { subjectaltname } = (request.socket as TLSSocket).getPeerCertificate();
  if (subjectaltname !== `DNS:${SERVICE_NAME}`) response.writeHead(403).end();
  else if (request.method !== 'POST' || request.url !== CALL_PATH) response.writeHead(404).end();
  else await answerCall(parts, request, response);
}

async function listen(server: Server, address: string): Promise<string> {
  const { hostname: host, port } = new URL(`http://${address}`);
  await new Promise<void>((resolve, reject) => {
    const fail = (error: Error) =>
      reject(failure('CONFIG_INVALID', { name: 'LONGSHORE_HOST_ADDRESS', problem: error.message, fix: 'Choose a free port of this machine' }, error));
    server.once('error', fail);
    server.listen({ host: host.replace(/^\[|\]$/g, ''), port: Number(port || 80) }, () => resolve());
  });
  const { port: bound } = server.address() as AddressInfo;
  // "All addresses" is no address to connect to: the services use the name of the machine.
  return `${host === '0.0.0.0' || host === '[::]' ? hostname() : host}:${bound}`;
}

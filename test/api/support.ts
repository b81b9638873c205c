import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { createApi, type ApiLimits, type ApiParts } from '../../src/api/create-api.ts';
import type { Api } from '../../src/api/http/route-parts.ts';
import { connect, type Longshore } from '../../src/client.ts';
import { openClientParts } from '../../src/client/open-client-parts.ts';
import { loadConfig } from '../../src/platform/config.ts';
import type { Scope } from '../../src/contracts/api-key.ts';
import { install, type Installation, type ScriptedStep } from '../e2e/support.ts';

/** The service of an installation, at an address of this process. */
export interface TestApi extends AsyncDisposable {
  url: string;
  api: Api;
  /** A new key, as the header that has it. */
  key(scopes?: Scope[], tenant?: string): Promise<{ authorization: string }>;
  /** A client over HTTP with a new key; the caller disposes of it. */
  connect(scopes?: Scope[], tenant?: string): Promise<Longshore>;
}

export async function startApi(
  { environment, longshore }: Installation,
  limits: Partial<ApiLimits> = {},
  more: Partial<Pick<ApiParts, 'codecOrigins' | 'publicUrl' | 'oidc' | 'tracing' | 'log'>> = {},
): Promise<TestApi> {
  const log = pino({ level: process.env['LONGSHORE_TEST_SHOW_WORKER'] ? 'debug' : 'silent' });
  const client = await openClientParts({ log }, loadConfig(environment));
  const api = await createApi({ client, log, version: '0.0.0-test', stopping: new AbortController().signal, limits, ...more });
  await api.listen({ host: '127.0.0.1', port: 0 });
  const url = `http://127.0.0.1:${(api.server.address() as AddressInfo).port}`;
  const keyText = async (scopes: Scope[] = ['conversations:read', 'conversations:write', 'approvals:resolve'], tenant?: string) =>
    (await longshore.keys.create({ name: 'test', scopes, ...(tenant !== undefined && { tenant }) })).text;
  return {
    url,
    api,
    key: async (scopes, tenant) => ({ authorization: `Bearer ${await keyText(scopes, tenant)}` }),
    connect: async (scopes, tenant) => connect({ url, apiKey: await keyText(scopes, tenant) }),
    async [Symbol.asyncDispose]() {
      await api.close();
      await Promise.all([client.temporal.close(), client.store[Symbol.asyncDispose]()]);
    },
  };
}

/** An installation with one worker, and its service. */
export interface ServedInstallation extends AsyncDisposable {
  installation: Installation;
  service: TestApi;
}

/** The agent `scripted` follows the steps. */
export async function serveScript(steps: ScriptedStep[], limits: Partial<ApiLimits> = {}): Promise<ServedInstallation> {
  const installation = await install(steps);
  await installation.startWorker().ready;
  const service = await startApi(installation, limits);
  return {
    installation,
    service,
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      await installation[Symbol.asyncDispose]();
    },
  };
}

/** Reads frames of server-sent events from a response, whole ones only, until it ends or `enough`. */
export async function* framesOf(response: Response): AsyncGenerator<string> {
  let rest = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    rest += decoder.decode(chunk as Uint8Array, { stream: true });
    for (let end = rest.indexOf('\n\n'); end !== -1; end = rest.indexOf('\n\n')) {
      yield rest.slice(0, end + 2);
      rest = rest.slice(end + 2);
    }
  }
}

/** Whether a frame is an event, and not a comment or an instruction. */
export function isEvent(frame: string): boolean {
  return frame.startsWith('id: ');
}

import { install, type Installation, type WorkerProcess } from '../../e2e/support.ts';
import type { Scope } from '../../../src/contracts/api-key.ts';
import { serve, type Server } from '../serve.ts';

/** A conversation that has a sandbox, a worker, and a service that has no Docker. */
export interface SandboxService extends AsyncDisposable {
  installation: Installation;
  worker: WorkerProcess;
  server: Server;
  /** The conversation, of tenant `north`. */
  id: string;
  /** Sends a request of that tenant; the path is that below the conversation's. */
  ask(path: string, init?: RequestInit): Promise<Response>;
  /** The header of a key of a tenant. */
  key(scopes: Scope[], tenant?: string): Promise<{ authorization: string }>;
}

export async function openSandboxService(): Promise<SandboxService> {
  const installation = await install([{ call: 'shell:run', with: { command: 'echo made > made.txt' }, expect: { exitCode: 0 } }, { say: 'Made.' }]);
  const worker = installation.startWorker();
  await worker.ready;
  const server = await serve(installation, { DOCKER_HOST: 'unix:///nowhere/docker.sock', PATH: '/nowhere' });
  const { id } = await installation.longshore.start({ agent: 'scripted', user: 'user-1', tenant: 'north', message: 'Make.' });
  await installation.longshore.reply(id);
  const key: SandboxService['key'] = async (scopes, tenant) => {
    const { text } = await installation.longshore.keys.create({ name: 'test', scopes, ...(tenant !== undefined && { tenant }) });
    return { authorization: `Bearer ${text}` };
  };
  const own = await key(['files:read', 'files:write', 'sandbox:exec', 'ports:connect'], 'north');
  return {
    installation,
    worker,
    server,
    id,
    key,
    ask: (path, init = {}) =>
      fetch(`${server.url}/v1/conversations/${id}${path}`, { ...init, headers: { ...own, ...(init.headers as Record<string, string>) } }),
    async [Symbol.asyncDispose]() {
      await installation.longshore.close(id);
      await server.kill();
      await installation[Symbol.asyncDispose]();
    },
  };
}

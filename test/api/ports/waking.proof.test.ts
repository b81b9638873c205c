import { loadConfig } from '../../../src/platform/config.ts';
import { createLogger } from '../../../src/platform/log.ts';
import type { Sandboxes } from '../../../src/sandbox/api/host-sandboxes.ts';
import { createDockerSandboxes } from '../../../src/sandbox/lifecycle/docker-sandboxes.ts';
import { until } from '../../e2e/support.ts';
import { openSandboxService, type SandboxService } from '../sandbox/support.ts';

const PORT = 8000;
let service: SandboxService;
let visitor: Sandboxes & AsyncDisposable;
beforeAll(async () => {
  service = await openSandboxService();
  const { installation } = service;
  const config = { ...loadConfig(), LONGSHORE_INSTALLATION: installation.name };
  visitor = createDockerSandboxes({ config, store: installation.store, log: createLogger({ LONGSHORE_LOG_LEVEL: 'error' }), role: 'visitor' });
  await listen(`exec python3 -m http.server ${PORT} --bind 127.0.0.1`, PORT);
}, 180_000);
afterAll(async () => {
  await visitor[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
}, 180_000);

const ask = (port = PORT) => service.ask(`/ports/${port}/made.txt`);

/** Starts a server in the sandbox, and waits until it listens. */
async function listen(command: string, port: number): Promise<void> {
  const body = JSON.stringify({ command, timeoutMs: 0 });
  expect((await service.ask('/commands', { method: 'POST', headers: { 'content-type': 'application/json' }, body })).status).toBe(202);
  await until(async () => (await ask(port)).status === 200, 'the server listens');
}

const row = async () => (await service.installation.store.sandboxes.ofConversation(service.id))!;
const freeze = async () => until(async () => (await visitor.freeze((await row()).sandboxId)) === 'frozen', 'the sandbox rests');

test('a frozen sandbox is woken for a request to a port, and its server answers', async () => {
  await freeze();
  expect(await (await ask()).text()).toBe('made\n');
  expect((await row()).state).toBe('running');
}, 60_000);

test('a sandbox that a pause holds is not woken: the answer says what to do, and its server answers when the conversation goes on', async () => {
  const { installation, id } = service;
  const { sandboxId } = await row();
  await installation.longshore.pause(id);
  await until(async () => (await installation.longshore.status(id)).state === 'paused', 'it is paused');
  await freeze();
  const answer = await ask();
  expect([answer.status, await answer.json()]).toEqual([
    409,
    expect.objectContaining({
      code: 'SANDBOX_HELD',
      detail: `Sandbox "${sandboxId}" belongs to conversation "${id}", which is paused, and its running command would continue. Resume it: POST /v1/conversations/${id}/resume`,
    }),
  ]);
  expect((await row()).state).toBe('frozen');
  await installation.longshore.resume(id);
  await until(async () => (await ask()).status === 200, 'its server answers');
}, 60_000);

test('a stopped sandbox wakes without its programs: the answer says to start a server', async () => {
  await visitor.stop((await row()).sandboxId);
  const answer = await ask();
  expect([answer.status, await answer.json()]).toEqual([
    502,
    expect.objectContaining({ code: 'PORT_CLOSED', detail: expect.stringMatching(/nothing listens there\. Start a server on this port/) as string }),
  ]);
  expect((await row()).state).toBe('running');
}, 60_000);

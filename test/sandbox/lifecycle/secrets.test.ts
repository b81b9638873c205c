import type { SandboxHandle } from '../../../src/sandbox/api/sandbox.ts';
import { createTestSandboxes, output, type TestSandboxes } from './support.ts';

const SECRET = 'sesame-4711-shut';
const STARS = '*'.repeat(SECRET.length);
const sandboxId = 'sbx_secrets';
let parts: TestSandboxes;
let handle: SandboxHandle;

beforeAll(async () => {
  process.env['SECRETS_TEST_KEY'] = SECRET;
  parts = await createTestSandboxes();
  ({ handle } = await parts.sandboxes.open({ sandboxId, tenantId: 't' }, { secrets: { DEPLOY_KEY: '${env.SECRETS_TEST_KEY}' } }));
});
afterAll(async () => {
  await parts[Symbol.asyncDispose]();
  delete process.env['SECRETS_TEST_KEY'];
});

test('commands and code have a secret, and what they print of it is masked', async () => {
  expect(await output(handle, 'echo ${#DEPLOY_KEY} $DEPLOY_KEY')).toBe(`${SECRET.length} ${STARS}`);
  const { stdout } = await handle.runCode('import os; print(os.environ["DEPLOY_KEY"]); [os.environ["DEPLOY_KEY"]]', { language: 'python', contextId: 'a' });
  expect(stdout.trimEnd()).toBe(STARS);
  const bash = await handle.runCode('echo $DEPLOY_KEY >&2', { language: 'bash' });
  expect(bash.stderr).toBe(`${STARS}\n`);
});

test('output is masked as it streams, however it is cut, and wherever it is left out in the middle', async () => {
  let streamed = '';
  const command = 'for ((i = 0; i < ${#DEPLOY_KEY}; i++)); do printf %s "${DEPLOY_KEY:i:1}"; sleep 0.02; done; yes "$DEPLOY_KEY" | head -c 102000';
  const { execId, stdout } = await handle.run(command, { onStdout: (chunk) => (streamed += chunk.toString()) });
  expect(streamed.slice(0, SECRET.length)).toBe(STARS);
  expect(streamed.length).toBe(SECRET.length + 102_000);
  const journal = await handle.readFile(`/home/.longshore/execs/${execId}/stdout`, { maxBytes: 200_000 });
  const attached = await handle.attach(execId);
  for (const text of [streamed, stdout.text, attached.stdout.text, journal.toString()]) {
    expect(text).toContain(STARS);
    expect(text).not.toMatch(/ses|4711|shut/);
  }
});

test('a secret is in no definition, row or record of the command', async () => {
  const container = parts.docker.getContainer(parts.containerName(sandboxId));
  expect(JSON.stringify(await container.inspect())).not.toContain(SECRET);
  const row = await parts.store.sandboxes.get(sandboxId);
  expect(row?.options).toMatchObject({ secrets: { DEPLOY_KEY: '${env.SECRETS_TEST_KEY}' } });
  expect(JSON.stringify([row, await handle.execs()])).not.toContain(SECRET);
  // Root's own records included: what commands wrote is all there is.
  const exec = await container.exec({ Cmd: ['grep', '-rlF', '--include=*.json', SECRET, '/home', '/run'], User: '0:0', AttachStdout: true });
  const stream = await exec.start({});
  let found = '';
  for await (const chunk of stream) found += String(chunk);
  expect(found).toBe('');
});

test('a secret that the worker does not have keeps the sandbox closed', async () => {
  const opened = parts.sandboxes.open(parts.newOwner(), { secrets: { KEY: '${env.SECRETS_TEST_NOT_SET}' } });
  await expect(opened).rejects.toMatchObject({ code: 'CONFIG_INVALID', values: { name: 'SECRETS_TEST_NOT_SET' } });
});

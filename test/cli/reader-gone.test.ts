import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { installAgents, type Installation } from '../e2e/support.ts';
import { builtCommandLine } from '../support/built-programs.ts';

let installation: Installation;
beforeAll(async () => {
  const approval = [{ tool: 'shell:run', decide: 'ask' }];
  installation = await installAgents({
    says: { steps: [{ say: 'Hello.' }] },
    asks: { steps: [{ call: 'shell:run', with: { command: 'rm -f old' } }, { say: 'Done.' }], approval },
  });
  await installation.startWorker().ready;
});
afterAll(async () => {
  await installation[Symbol.asyncDispose]();
});

/** Runs a command line whose output is read by no process. */
async function unread(...args: string[]): Promise<{ code: number | null; err: string }> {
  const child = spawn(process.execPath, [await builtCommandLine(), ...args], { env: installation.environment, stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.destroy();
  let err = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, err };
}

test('a command whose output is not read any more does all that it was asked for', async () => {
  expect(await unread('run', 'says', '--message', 'Hi', '--id', 'conv_unread', '--wait', '--close', '--json')).toEqual({ code: 0, err: '' });
  expect(await installation.longshore.status('conv_unread')).toMatchObject({ state: 'closed' });
});

test('its exit code says how it ended', async () => {
  const asked = await unread('run', 'asks', '--message', 'Hi', '--id', 'conv_asks', '--wait');
  expect(asked).toEqual({ code: 3, err: 'It waits for an approval; see: longshore show conv_asks\n' });
  expect(await unread('show', 'conv_asks')).toEqual({ code: 0, err: '' });
  expect(await unread('show', 'conv_none')).toMatchObject({ code: 1 });
});

test('an archive that is not read any more is not read to its end', async () => {
  expect(await unread('export', 'conv_asks', '--out', '-')).toEqual({ code: 0, err: '' });
});

test('an output that cannot be written is an error that says so', async () => {
  const full = await open('/dev/full', 'w');
  try {
    const child = spawn(process.execPath, [await builtCommandLine(), '--help'], { env: installation.environment, stdio: ['ignore', full.fd, 'pipe'] });
    let err = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (err += text));
    expect([await once(child, 'close'), err]).toEqual([[1, null], 'The output cannot be written: no space left on device\n']);
  } finally {
    await full.close();
  }
});

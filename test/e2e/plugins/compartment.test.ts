import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../../src/setup/ports.ts';
import { installAgents, resultsOf, until, type Installation, type WorkerProcess } from '../support.ts';

let directory: string;
let installation: Installation;
let worker: WorkerProcess;
let url: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longshore-compartment-'));
  await writeFile(
    join(directory, 'index.ts'),
    `import { definePlugin, defineTool } from 'longshore/plugins';
     import { z } from 'zod';
     export default definePlugin({ id: 'notes', tools: [defineTool({
       id: 'linger', description: 'Lingers', parameters: z.object({}), isolation: 'container', timeoutMs: 1000, requireApproval: false,
       execute: async (_input, { sandbox }) => (await sandbox.exec('sleep 3.14; touch lingered', { timeoutMs: 60_000 })).status,
     }), defineTool({
       id: 'count', description: 'Counts', parameters: z.object({ text: z.string() }),
       async execute({ text }: { text: string }, context) { await context.note('counting'); return { length: text.length, process: typeof process, ids: context.callId.slice(0, 5) }; } })] });`,
  );
  const call = { call: 'notes:count', with: { text: 'four' }, expect: { length: 4, process: 'undefined', ids: 'call_' } };
  // Waits for the end of a command that should have ended long ago.
  const look = { command: 'while pgrep -f "^sleep 3.14" >&2; do sleep 0.05; done; ls' };
  const late = 'notes:linger failed: it took longer than 1000 ms and was aborted';
  installation = await installAgents({
    counter: { plugins: [directory], tools: ['notes:*'], steps: [call, { say: 'Counted.' }] },
    lingerer: {
      plugins: [directory],
      tools: ['notes:*', 'shell:run'],
      steps: [
        { call: 'notes:linger', with: {}, expect: { isError: true, text: late } },
        { call: 'shell:run', with: look, expect: { exitCode: 0, stdout: '' } },
        { say: 'Nothing lingers.' },
      ],
    },
  });
  url = `http://127.0.0.1:${await freePort()}`;
  installation.environment['LONGSHORE_METRICS_ADDRESS'] = new URL(url).host;
  worker = installation.startWorker();
  await worker.ready;
});
afterAll(async () => {
  await installation[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});

test('a conversation calls a tool of a plugin in an isolated process', async () => {
  const chat = await installation.longshore.start({ agent: 'counter', user: 'user-1', message: 'Count.' });
  expect(await chat.reply()).toBe('Counted.');
  expect(await resultsOf(chat)).toEqual([{ length: 4, process: 'undefined', ids: 'call_' }]);
});

test("a tool's time limit ends its command in the sandbox too", async () => {
  const chat = await installation.longshore.start({ agent: 'lingerer', user: 'user-1', message: 'Linger.' });
  expect(await chat.reply()).toBe('Nothing lingers.');
  await chat.close();
});

test("a worker's health tells the level of the fence and that the plugin runs", async () => {
  const report = (await (await fetch(`${url}/health`)).json()) as object;
  expect(report).toMatchObject({
    postgres: 'ok',
    plugins: { level: expect.stringMatching(/^[ABC]$/) as string, plugins: [{ plugin: 'notes', state: 'running', restarts: 0 }] },
  });
  expect(await (await fetch(`${url}/metrics`)).text()).toContain('longshore_plugin_state{plugin="notes",state="running"} 1\n');
});

test('when the worker is killed, the processes of its plugins end with it', async () => {
  const guests = await fencedProcesses(worker.pid);
  expect(guests.length).toBeGreaterThan(1);
  await worker.kill();
  const gone = async (pid: string) => !(await commandOf(pid)).includes('guest.cjs');
  await until(async () => (await Promise.all(guests.map(gone))).every(Boolean), 'no process of a plugin is left');
});

/** Ids of the processes of plugins that a worker has started. */
async function fencedProcesses(pid: number): Promise<string[]> {
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim().split(' ');
  const commands = await Promise.all(children.map(commandOf));
  return children.filter((_, index) => commands[index]?.includes('guest.cjs'));
}

function commandOf(pid: string): Promise<string> {
  return readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
}

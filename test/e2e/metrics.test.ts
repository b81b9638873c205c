import { freePort } from '../../src/setup/ports.ts';
import { install } from './support.ts';

test('a worker counts its tool calls and the sandboxes, and serves both until it stops', async () => {
  await using installation = await install([{ call: 'shell:run', with: { command: 'echo hello' } }, { say: 'Done.' }], { sandbox: { idle: { freeze: 0 } } });
  const url = `http://127.0.0.1:${await freePort()}`;
  installation.environment['LONGSHORE_METRICS_ADDRESS'] = new URL(url).host;
  const worker = installation.startWorker();
  await worker.ready;
  const chat = await installation.longshore.start({ agent: 'scripted', user: 'user-1', message: 'Begin.' });
  expect(await chat.reply()).toBe('Done.');
  const told = await (await fetch(`${url}/metrics`)).text();
  expect(told).toContain('longshore_tool_calls_total{tool="shell:run",outcome="finished"} 1\n');
  expect(told).toContain('longshore_sandboxes{state="running",template=""} 1\n');
  expect(await (await fetch(`${url}/healthz`)).text()).toBe('ok\n');
  expect(await worker.stop()).toBe(0);
  await expect(fetch(`${url}/healthz`)).rejects.toThrow();
});

import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { installAgents, until, type Installation, type WorkerProcess } from '../support.ts';

const DEATHS = 5;

/** A provider that keeps every request waiting until it is told to answer or to fail. */
async function openProvider() {
  const waiting: ServerResponse[] = [];
  let asked = 0;
  const server = createServer((request, response) => {
    asked += 1;
    request.resume();
    response.once('close', () => waiting.splice(waiting.indexOf(response) >>> 0, 1));
    waiting.push(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked: () => asked,
    waiting: () => waiting.length,
    answer() {
      for (const response of waiting.splice(0)) {
        const chunk = (delta: object, finish: string | null) =>
          `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 0, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end(`${chunk({ role: 'assistant', content: 'Here I am.' }, null)}${chunk({}, 'stop')}data: [DONE]\n\n`);
      }
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test(`after ${DEATHS} workers have died in one model call, the next is asked within seconds`, async () => {
  await using provider = await openProvider();
  const agent = { model: 'openai-compatible/m', modelOptions: { baseUrl: provider.url }, steps: [{ say: 'unused' }] };
  await using installation: Installation = await installAgents({ talker: agent });
  // Each death is followed by a worker that is ready: what is measured is the pause, not the start of a process.
  let working: WorkerProcess = installation.startWorker();
  await working.ready;
  const chat = await installation.longshore.start({ agent: 'talker', user: 'user-1', message: 'Hi' });
  const pauses: number[] = [];
  for (let deaths = 1; deaths <= DEATHS; deaths += 1) {
    await until(async () => provider.asked() >= deaths, `the model is asked for the ${deaths}. time`);
    const next = installation.startWorker();
    await next.ready;
    const diedAt = Date.now();
    await working.kill();
    working = next;
    await until(async () => provider.asked() > deaths, 'the next worker asks the model');
    pauses.push(Date.now() - diedAt);
  }
  provider.answer();
  expect(await chat.reply()).toBe('Here I am.');
  // Five seconds until a silent worker counts as dead, two at most until the next attempt; twice that on a busy machine.
  expect(Math.max(...pauses)).toBeLessThan(15_000);
  expect(pauses.at(-1)).toBeLessThan(15_000);
  await chat.close();
  // Each attempt accepted the message before it asked the model.
  const types: string[] = [];
  for await (const { type } of chat.events()) types.push(type);
  expect(types.filter((type) => type === 'message.received' || type === 'turn.started')).toEqual(['message.received', 'turn.started']);
  expect(types.filter((type) => type === 'step.started')).toHaveLength(DEATHS + 1);
}, 600_000);

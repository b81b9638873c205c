import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { openWay, type Way } from '../../../scripts/chaos/faults/way.ts';
import { builtCommandLine } from '../../support/built-programs.ts';
import { createTestDatabase } from '../../support/databases.ts';
import { install, resultsOf, until, untilEvent } from '../support.ts';

/** What "Where an orchestrator starts the programs" in docs/guides/operators.md says, with the programs as it starts them. */

const NO_ENGINE = { DOCKER_HOST: 'unix:///nowhere/docker.sock' };
const STOPS_WITHIN_MS = 60_000;

interface Started {
  child: ChildProcess;
  /** Waits for what the program says, and returns the first group. */
  said(pattern: RegExp): Promise<string>;
  /** Sends SIGTERM; returns the exit code. */
  stop(): Promise<number | null>;
  ended: Promise<number | null>;
}

async function start(words: string[], environment: NodeJS.ProcessEnv): Promise<Started> {
  const child = spawn(process.execPath, [await builtCommandLine(), ...words], { env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const ended = once(child, 'exit').then(([code]) => code as number | null);
  return {
    child,
    ended,
    async said(pattern) {
      await until(async () => pattern.test(text) || child.exitCode !== null, `it says ${String(pattern)}`);
      return pattern.exec(text)?.[1] ?? text;
    },
    async stop() {
      child.kill('SIGTERM');
      return ended;
    },
  };
}

const probe = async (url: string) => {
  const answer = await fetch(url).catch(() => undefined);
  return answer === undefined ? 'no answer' : `${answer.status} ${(await answer.text()).trim()}`;
};
const untilProbe = (url: string, answer: string) => until(async () => (await probe(url)) === answer, `${url} answers ${answer}`);

test('the job changes the schema, without an engine; programs that may not change it end until it has', async () => {
  await using database = await createTestDatabase({ schema: 'none' });
  const environment = { ...process.env, ...NO_ENGINE, DATABASE_URL: database.url };
  const codeOf = async (words: string[], more: NodeJS.ProcessEnv = {}) => (await start(words, { ...environment, ...more })).ended;
  expect(await codeOf(['setup', '--check'])).toBe(1);
  const early = await start(['serve', '--address', '127.0.0.1:0'], { ...environment, LONGSHORE_MIGRATE: 'no' });
  expect(await early.ended).toBe(5);
  expect(await early.said(/(LONGSHORE_MIGRATE=no lets no program change it)/)).toBe('LONGSHORE_MIGRATE=no lets no program change it');
  expect(await codeOf(['setup'])).toBe(0);
  expect(await codeOf(['setup', '--check'])).toBe(0);
}, 400_000);

test('probes report an outage of Postgres while the programs go on, and each program stops in time when it is asked to', async () => {
  await using installation = await install([
    { call: 'shell:run', with: { command: 'echo begun; sleep 8; echo over' }, expect: { exitCode: 0 } },
    { say: 'Done.' },
  ]);
  const database = new URL(installation.environment['DATABASE_URL'] ?? '');
  const address = { host: database.hostname, port: Number(database.port) };
  await using way: Way = await openWay(() => address);
  database.host = `127.0.0.1:${way.port}`;
  const environment = { ...installation.environment, LONGSHORE_MIGRATE: 'no', DATABASE_URL: database.href };
  const ofWorker = { ...environment, LONGSHORE_HOST_ID: 'node-1', LONGSHORE_HOST_ADDRESS: '127.0.0.1:0', LONGSHORE_METRICS_ADDRESS: '127.0.0.1:0' };
  const worker = await start(['worker'], ofWorker);
  const service = await start(['serve', '--address', '127.0.0.1:0'], { ...environment, ...NO_ENGINE, LONGSHORE_API_DRAIN: '3s' });
  await worker.said(/worker ready/);
  const healthOfWorker = `${await worker.said(/"url":"(\S+?)","msg":"metrics are served"/)}/healthz`;
  const url = await service.said(/Serving (\S+)\. /);
  await untilProbe(healthOfWorker, '200 ok');
  await untilProbe(`${url}/readyz`, '200 ok');

  way.cut();
  await untilProbe(healthOfWorker, '503 Postgres does not answer');
  await untilProbe(`${url}/readyz`, '503 Postgres does not answer');
  expect(await probe(`${url}/healthz`)).toBe('200 ok');
  way.heal();
  await untilProbe(healthOfWorker, '200 ok');
  await untilProbe(`${url}/readyz`, '200 ok');
  expect([worker.child.exitCode, service.child.exitCode]).toEqual([null, null]);

  const chat = await installation.longshore.start({ agent: 'scripted', user: 'user-1', message: 'Begin.' });
  await untilEvent(chat, ({ type, data }) => type === 'tool.output' && data.text.includes('begun'));
  const asked = performance.now();
  expect(await worker.stop()).toBe(0);
  expect(performance.now() - asked).toBeLessThan(STOPS_WITHIN_MS);
  // Another pod on the same machine.
  const next = await start(['worker'], ofWorker);
  expect(await chat.reply()).toBe('Done.');
  expect(await resultsOf(chat)).toMatchObject([{ stdout: 'begun\nover\n' }]);
  await chat.close();

  service.child.kill('SIGTERM');
  await untilProbe(`${url}/readyz`, '503 stopping');
  expect(await probe(`${url}/healthz`)).toBe('200 ok');
  expect(await service.ended).toBe(0);
  expect(await next.stop()).toBe(0);
}, 400_000);

/**
 * Two hosts on this machine: a conversation counts in an interpreter, its host is drained, and the process counts on on the other one; then that one is killed in
 * the middle of a command, and the conversation goes on with its newest backup. Ends with 0 only when all that it promises was so and nothing is left.
 */
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { parseArgs } from 'node:util';
import { runCli } from '../../src/cli/run-cli.ts';
import { connect } from '../../src/client.ts';
import { isFailure } from '../../src/contracts/errors.ts';
import type { Config } from '../../src/platform/config.ts';
import { createLogger } from '../../src/platform/log.ts';
import { openStore } from '../../src/store/open-store.ts';
import { Narrator } from '../demo/narrator.ts';
import { ENGINE_PROGRAM, whyNoOwnEngine } from '../own-engine.ts';
import { startTemporaryStack, type TemporaryStack } from '../temporary-stack.ts';
import { takeCensus } from './census.ts';
import { Checks } from './checks.ts';
import { follow } from './follow.ts';
import { startFleet } from './start-fleet.ts';
import { tellStory } from './story.ts';

const USAGE = `Usage: npm run demo:fleet -- [--files]

  --files   move files only, and no processes, also where gVisor is there

DOCKERD names the program of the second engine (${ENGINE_PROGRAM}).`;
const SETTINGS = {
  LONGSHORE_AGENTS: join(import.meta.dirname, '../../examples/fleet/agents'),
  // The shortest that the setting takes.
  LONGSHORE_HOST_LOST_AFTER: '30s',
  // A database of its own: hosts that another one knows would be given sandboxes of this demo.
  DATABASE_URL: '',
  LONGSHORE_BLOBS: '',
};
const INTERRUPTED = 130;

try {
  const { values } = parseArgs({ options: { files: { type: 'boolean' }, help: { type: 'boolean' } } });
  if (values.help) console.log(USAGE);
  else process.exitCode = await demo(values.files ?? false);
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}

/** Returns the exit code. */
async function demo(filesOnly: boolean): Promise<number> {
  const missing = await whyNoOwnEngine();
  if (missing !== undefined) throw new Error(`This demo kills a Docker engine, and so needs one of its own: ${missing}.`);
  const narrator = new Narrator();
  const checks = new Checks(narrator);
  narrator.tell('making Temporal, Postgres and the sandbox image ready');
  const stack = await startTemporaryStack('fleet', SETTINGS, (line) => narrator.tell(line));
  stack.interrupted.addEventListener('abort', () => narrator.tell('interrupted; all that was started is being ended', 'red'));
  const told = (error: unknown) => {
    if (!stack.interrupted.aborted) checks.fail(messageOf(error));
  };
  await perform(stack, filesOnly, narrator, checks).catch(told);
  narrator.tell('ending workers, engines and servers');
  await Promise.resolve(stack[Symbol.asyncDispose]()).catch(told);
  if (stack.interrupted.aborted) return INTERRUPTED;
  for (const line of await takeCensus(stack)) checks.fail(`left behind: ${line}`);
  if (checks.failed === 0) checks.hold('nothing is left of this demo: no container, no volume, no process, no mount and no temporary file', true);
  return checks.failed === 0 ? 0 : 1;
}

async function perform(stack: TemporaryStack, filesOnly: boolean, narrator: Narrator, checks: Checks): Promise<void> {
  const { config } = stack;
  // Engines and what they start keep their temporary files where the end of the stack removes them.
  process.env['TMPDIR'] = stack.directory;
  const fleet = await startFleet(stack, narrator, { filesOnly });
  await fleet.first.startWorker();
  narrator.tell(`worker ${fleet.first.worker} of host "first" takes work`);
  const log = createLogger({ LONGSHORE_LOG_LEVEL: 'error' });
  await using store = await openStore({ url: config.DATABASE_URL, log });
  await using longshore = await connect({
    temporalAddress: config.TEMPORAL_ADDRESS,
    temporalNamespace: config.TEMPORAL_NAMESPACE,
    databaseUrl: config.DATABASE_URL,
    taskQueue: config.LONGSHORE_TASK_QUEUE,
    agents: config.LONGSHORE_AGENTS,
    log,
  });
  await using chat = await longshore.start({ agent: 'counter', user: 'demo' });
  await using followed = follow(chat, narrator);
  const { until } = followed;
  await tellStory({ chat, until, fleet, store, narrator, checks, longshore: (...args) => runLine(config, narrator, args) });
}

async function runLine(config: Config, narrator: Narrator, args: string[]): Promise<number> {
  narrator.tell(`$ longshore ${args.join(' ')}`);
  const out = new PassThrough();
  createInterface({ input: out }).on('line', (line) => narrator.tell(`  ${line}`));
  const unheard = () => () => undefined;
  return runCli(args, { out, err: out, in: process.stdin, exitCode: 0, config: () => config, connect, onInterrupt: unheard, onReaderGone: unheard });
}

function messageOf(error: unknown): string {
  if (isFailure(error)) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

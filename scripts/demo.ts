import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { loadAgents } from '../src/definitions/agents/load-agents.ts';
import { sandboxIdOf } from '../src/contracts/ids.ts';
import { connect, type Chat } from '../src/client.ts';
import type { Agent } from '../src/contracts/agent.ts';
import { isFailure } from '../src/contracts/errors.ts';
import { createLogger } from '../src/platform/log.ts';
import { createDockerSandboxes } from '../src/sandbox/lifecycle/docker-sandboxes.ts';
import type { SandboxHandle } from '../src/sandbox/api/sandbox.ts';
import { openStore } from '../src/store/open-store.ts';
import { Director } from './demo/director.ts';
import { Narrator } from './demo/narrator.ts';
import { uploadProject } from './demo/upload.ts';
import { listLeftovers, startTemporaryStack, type TemporaryStack } from './temporary-stack.ts';
import { textOf } from './demo/text-of.ts';

const DEMO = join(import.meta.dirname, '../examples/demo');
const TASK =
  'The tests in ~/project fail. Find the fault, repair it and run the tests; then run the long check (python3 soak.py, up to a minute) once, and commit the change.';
const USAGE = `Usage: npm run demo -- [--interactive] [--model provider/name]

  --interactive   answer the approval yourself
  --model         run the same task on a real model; its key is read from the environment (OPENAI_API_KEY, ANTHROPIC_API_KEY, …)`;

interface Options {
  interactive: boolean;
  model: string;
}

try {
  const options = readOptions();
  if (options) process.exitCode = await demo(options);
} catch (error) {
  console.error(isFailure(error) ? error.message : error);
  process.exitCode = 1;
}

function readOptions(): Options | undefined {
  const { values } = parseArgs({ options: { interactive: { type: 'boolean' }, model: { type: 'string' }, help: { type: 'boolean' } } });
  if (values.help) console.log(USAGE);
  return values.help ? undefined : { interactive: values.interactive ?? false, model: values.model ?? 'scripted/../script.yaml' };
}

/** Runs the whole demo; returns the exit code. */
async function demo({ interactive, model }: Options): Promise<number> {
  const narrator = new Narrator();
  narrator.tell('making Temporal, Postgres and the sandbox image ready');
  const settings = { LONGSHORE_DEMO_MODEL: model, LONGSHORE_AGENTS: join(DEMO, 'agents') };
  // The agent's file names the model by this variable, here and in the worker.
  Object.assign(process.env, settings);
  await using stack = await startTemporaryStack('demo', settings, (line) => narrator.tell(line));
  if (stack.uiUrl) narrator.tell(`watch it in the Temporal UI: ${stack.uiUrl}`);
  await using director = new Director({ narrator, stack, interactive });
  stopOnSignals(async () => {
    await director[Symbol.asyncDispose]();
    await stack[Symbol.asyncDispose]();
  });
  await director.startWorker();
  const succeeded = await converse(stack, director, narrator);
  await director[Symbol.asyncDispose]();
  const leftovers = await listLeftovers(stack.config.LONGSHORE_INSTALLATION);
  narrator.tell(leftovers.length === 0 ? 'no container and no volume is left behind' : `left behind: ${leftovers.join(', ')}`);
  return succeeded && leftovers.length === 0 ? 0 : 1;
}

async function converse(stack: TemporaryStack, director: Director, narrator: Narrator): Promise<boolean> {
  const { config } = stack;
  const log = createLogger({ LONGSHORE_LOG_LEVEL: 'error' });
  await using store = await openStore({ url: config.DATABASE_URL, log, blobs: config });
  await using sandboxes = createDockerSandboxes({ config, store, log });
  await using longshore = await connect({
    temporalAddress: config.TEMPORAL_ADDRESS,
    databaseUrl: config.DATABASE_URL,
    taskQueue: config.LONGSHORE_TASK_QUEUE,
    agents: config.LONGSHORE_AGENTS,
    log,
  });
  const agent = await repairer(config.LONGSHORE_AGENTS);
  await using chat = await longshore.start({ agent: agent.id, user: 'demo' });
  const owner = { sandboxId: sandboxIdOf(chat.id), conversationId: chat.id, tenantId: 'default' };
  const { handle } = await sandboxes.open(owner, agent.sandbox);
  const files = await uploadProject(handle, join(DEMO, 'project'), '/home/user/project');
  narrator.tell(`${files} files of a small project are in the sandbox of ${chat.id}`);
  try {
    await chat.send(TASK);
    const outcome = await director.follow(chat);
    return outcome === 'finished' && (await prove(chat, handle, director, narrator));
  } finally {
    await director.close(chat);
  }
}

async function repairer(directory: string): Promise<Agent> {
  const agent = (await loadAgents(directory)).get('repairer');
  if (!agent) throw new Error(`no agent "repairer" in ${directory}`);
  return agent;
}

/** Compares what the agent asked for with the note that the program leaves each time it is started. */
async function prove(chat: Chat, handle: SandboxHandle, director: Director, narrator: Narrator): Promise<boolean> {
  const calls = (await chat.transcript()).flatMap(({ entry }) => (entry.role === 'assistant' ? entry.parts.filter((part) => part.type === 'tool-call') : []));
  const asked = calls.filter((call) => textOf(call.arguments.command).includes('soak.py')).length;
  const notes = (await handle.fileInfo('/home/user/soak-runs.log')) ? (await handle.readFile('/home/user/soak-runs.log')).toString() : '';
  const started = notes.split('\n').filter((line) => line !== '');
  const proven = asked > 0 && asked === started.length;
  narrator.tell(`proof: the agent asked for soak.py ${times(asked)}; the program's own log in the sandbox says: ${started.join(', ') || 'never started'}`);
  const survived = `${director.workers} worker processes, ${times(director.kills)} killed with SIGKILL, ${times(director.pauses)} frozen in mid-command`;
  narrator.tell(`${proven ? 'it ran exactly as often as it was asked for' : 'that does NOT fit'}, over ${survived}`, proven ? 'green' : 'red');
  return proven;
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}

function stopOnSignals(stop: () => Promise<void>): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void stop().finally(() => process.exit(130)));
  }
}

/**
 * Puts one sandbox to disk and wakes it again, as often as asked (100 times), and checks that nothing is lost: a process with 20 MB of random memory
 * has to answer with the same digest each time, and the output of one that counts has to be without gap or repetition.
 *   npx tsx scripts/hibernate-cycles.ts 100
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { readProgram } from '../src/platform/read-program.ts';
import { createLogger } from '../src/platform/log.ts';
import { createDockerSandboxes } from '../src/sandbox/lifecycle/docker-sandboxes.ts';
import type { SandboxHandle } from '../src/sandbox/api/sandbox.ts';
import type { Sandboxes } from '../src/sandbox/api/host-sandboxes.ts';
import { openStore } from '../src/store/open-store.ts';
import { listLeftovers, startTemporaryStack } from './temporary-stack.ts';

const MEMORY = readProgram(import.meta.url, 'programs/keep_memory.py');
const COUNTER = readProgram(import.meta.url, 'programs/count.sh');
const ANSWER_TIMEOUT_MS = 60_000;
const OWNER = { sandboxId: 'sbx_cycles', tenantId: 'cycles' };

const cycles = Number(process.argv[2] ?? 100);
if (!Number.isInteger(cycles) || cycles < 1) throw new RangeError('say how many cycles: npx tsx scripts/hibernate-cycles.ts 100');

interface Times {
  down: number[];
  up: number[];
}

/** What a followed command has printed so far. */
function follow(handle: SandboxHandle, execId: string): { text: () => string; ended: Promise<unknown> } {
  let text = '';
  const ended = handle.attach(execId, undefined, { onStdout: (chunk) => (text += chunk.toString()) });
  ended.catch(() => undefined);
  return { text: () => text, ended };
}

async function ask(handle: SandboxHandle, text: () => string, question: string): Promise<string> {
  await handle.run(`echo ${question} > questions`);
  for (const end = performance.now() + ANSWER_TIMEOUT_MS; performance.now() < end; await sleep(2)) {
    const answer = text()
      .split('\n')
      .slice(0, -1)
      .find((line) => line.startsWith(`${question} `));
    if (answer !== undefined) return answer.slice(question.length + 1);
  }
  throw new Error(`${question}: no answer. What was said: ${text().slice(-300)}`);
}

async function run(sandboxes: Sandboxes): Promise<Times> {
  const times: Times = { down: [], up: [] };
  const { handle } = await sandboxes.open(OWNER, { runtime: 'runsc' });
  await handle.writeFile('keep_memory.py', MEMORY);
  await handle.run('mkfifo questions');
  // Through a file, since stdin that is given at the start ends there.
  await handle.start('exec python3 keep_memory.py <> questions', { execId: 'memory', timeoutMs: 0 });
  await handle.start(COUNTER, { execId: 'counter', timeoutMs: 0 });
  const [memory, counter] = [follow(handle, 'memory'), follow(handle, 'counter')];
  const first = await ask(handle, memory.text, 'first');
  for (let cycle = 1; cycle <= cycles; cycle += 1) {
    const started = performance.now();
    const tier = await sandboxes.hibernate(OWNER.sandboxId);
    if (tier !== 'hibernated') throw new Error(`cycle ${cycle}: the sandbox is ${tier}`);
    const resting = performance.now();
    if ((await sandboxes.wake(OWNER.sandboxId)) !== 'running') throw new Error(`cycle ${cycle}: it did not wake`);
    times.down.push(resting - started);
    times.up.push(performance.now() - resting);
    const answer = await ask(handle, memory.text, `cycle-${cycle}`);
    if (answer !== first) throw new Error(`cycle ${cycle}: the memory was ${first} and is ${answer}`);
    if (cycle % 10 === 0) console.log(`${cycle} cycles`);
  }
  await handle.kill('counter', 'SIGKILL');
  await counter.ended;
  const counted = counter.text().trimEnd().split('\n').map(Number);
  const wrong = counted.findIndex((number, index) => number !== index + 1);
  if (wrong !== -1) throw new Error(`line ${wrong + 1} of the counter is ${counted[wrong]}`);
  console.log(`nothing lost: ${cycles} cycles, ${counted.length} lines without gap or repetition, the same process and memory throughout`);
  return times;
}

function summary(times: number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);
  return `median ${at(0.5)} ms, 95 % ${at(0.95)} ms, longest ${at(1)} ms`;
}

const log = createLogger({ LONGSHORE_LOG_LEVEL: 'warn' });
await using stack = await startTemporaryStack('cycles', {}, console.log);
const store = await openStore({ url: stack.config.DATABASE_URL, log });
const sandboxes = createDockerSandboxes({ config: stack.config, store, log, reapGraceMs: -60_000 });
try {
  const { down, up } = await run(sandboxes);
  console.log(`hibernate: ${summary(down)}\nwake:      ${summary(up)}`);
} finally {
  await sandboxes.destroy(OWNER.sandboxId);
  await sandboxes.reap();
  await sandboxes[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
}
const left = await listLeftovers(stack.config.LONGSHORE_INSTALLATION);
if (left.length > 0) throw new Error(`left behind: ${left.join(', ')}`);

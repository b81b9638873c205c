/**
 * Restarts a Docker engine of its own while commands run in sandboxes on it, politely and by KILL, with live-restore and without, and prints what became
 * of the commands. Needs root and a running engine that has the sandbox image, which is copied; gVisor takes part where it is set up.
 *   npx tsx scripts/engine-restart.ts
 *   DOCKERD=/opt/engine/dockerd npx tsx scripts/engine-restart.ts     another engine; its containerd and runc are looked for beside it
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isFailure } from '../src/contracts/errors.ts';
import { ensureGvisorScript } from '../src/setup/gvisor-script.ts';
import { readProgram } from '../src/platform/read-program.ts';
import { createLogger } from '../src/platform/log.ts';
import { createDockerSandboxes } from '../src/sandbox/lifecycle/docker-sandboxes.ts';
import type { SandboxHandle } from '../src/sandbox/api/sandbox.ts';
import type { Sandboxes } from '../src/sandbox/api/host-sandboxes.ts';
import { openStore } from '../src/store/open-store.ts';
import { createOwnEngine, type OwnEngine } from './own-engine.ts';
import { startTemporaryStack } from './temporary-stack.ts';

const COUNTER = readProgram(import.meta.url, 'programs/count.sh');
const LINES = 50;
const OUTCOME_TIMEOUT_MS = 60_000;

interface Case {
  runtime: 'runc' | 'runsc';
  liveRestore: boolean;
  signal: 'SIGTERM' | 'SIGKILL';
  /** Of the sandbox while the engine restarts. */
  tier: 'running' | 'hibernated';
}

interface Followed {
  lines: () => number[];
  /** Its result, or the code of the error that its follower got. */
  end: () => string | undefined;
}

function follow(handle: SandboxHandle, execId: string): Followed {
  let text = '';
  let end: string | undefined;
  handle.attach(execId, undefined, { onStdout: (chunk) => (text += chunk.toString()) }).then(
    ({ status, signal }) => (end = `its result is ${status} by ${signal ?? 'itself'}`),
    (error: unknown) => (end = isFailure(error) ? `it fails with ${error.code}` : String(error)),
  );
  return { lines: () => text.split('\n').slice(0, -1).map(Number), end: () => end };
}

async function until(what: string, holds: () => boolean): Promise<void> {
  for (const end = performance.now() + OUTCOME_TIMEOUT_MS; !holds(); await sleep(20)) {
    if (performance.now() > end) throw new Error(`timed out: ${what}`);
  }
}

/** What became of a command whose engine was restarted, and what an open of its sandbox says afterwards. */
async function restartDuring(engine: OwnEngine, sandboxes: Sandboxes, { runtime, liveRestore, signal, tier }: Case): Promise<string> {
  await engine.start({ liveRestore });
  const owner = { sandboxId: `sbx_${runtime}_${tier}_${signal.toLowerCase()}_${liveRestore}`, tenantId: 'restarts' };
  const { handle } = await sandboxes.open(owner, { runtime });
  try {
    await handle.start(COUNTER, { execId: 'counter', timeoutMs: 0 });
    const counter = follow(handle, 'counter');
    await until('the command has begun', () => counter.lines().length >= LINES);
    if (tier === 'hibernated') await sandboxes.hibernate(owner.sandboxId, { otherwise: 'stay' });
    await engine.end(signal);
    await engine.start({ liveRestore });
    if (tier === 'hibernated') await sandboxes.wake(owner.sandboxId);
    const before = counter.lines().length;
    await until('the command goes on or is lost', () => counter.end() !== undefined || counter.lines().length >= before + LINES);
    const end = counter.end();
    const { lost } = await sandboxes.open(owner, { runtime });
    if (end === undefined && lost === undefined) return describeLines(counter.lines());
    return `${end ?? 'its follower was not told'}; ${lost ?? 'nothing was reported as lost'}`;
  } finally {
    // What this leaves is removed with the engine, and must not hide what went wrong.
    await sandboxes.destroy(owner.sandboxId).catch(() => undefined);
    await engine.end('SIGTERM');
  }
}

function describeLines(lines: number[]): string {
  const wrong = lines.findIndex((number, index) => number !== index + 1);
  return wrong === -1 ? 'goes on, its output without gap or repetition' : `goes on, but line ${wrong + 1} of its output is ${lines[wrong]}`;
}

const log = createLogger({ LONGSHORE_LOG_LEVEL: 'error' });
await using stack = await startTemporaryStack('restarts', {}, console.log);
const hasGvisor = existsSync(join(stack.config.LONGSHORE_HOME, 'bin/runsc'));
const { script } = await ensureGvisorScript(stack.config.LONGSHORE_HOME);
await using engine = await createOwnEngine(hasGvisor ? { runsc: script } : {});
await engine.start({ liveRestore: false });
await engine.takeImage(stack.config.LONGSHORE_SANDBOX_IMAGE);
console.log(`engine ${await engine.version()}`);
await engine.end('SIGTERM');
await using store = await openStore({ url: stack.config.DATABASE_URL, log });
await using sandboxes = createDockerSandboxes({ config: { ...stack.config, DOCKER_HOST: engine.host }, store, log });
const rows = [
  { runtime: 'runc', tier: 'running' },
  ...(hasGvisor ? [{ runtime: 'runsc', tier: 'running' } as const, { runtime: 'runsc', tier: 'hibernated' } as const] : []),
] as const;
for (const { runtime, tier } of rows) {
  for (const liveRestore of [true, false]) {
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      const outcome = await restartDuring(engine, sandboxes, { runtime, liveRestore, signal, tier }).catch((error: unknown) => `FAILED: ${String(error)}`);
      if (outcome.startsWith('FAILED')) process.exitCode = 1;
      console.log(`${runtime}, ${tier}, ${liveRestore ? 'with' : 'without'} live-restore, ${signal}: ${outcome}`);
    }
  }
}

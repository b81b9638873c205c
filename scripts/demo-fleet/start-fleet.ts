import { isFailure } from '../../src/contracts/errors.ts';
import type { SandboxCapabilities } from '../../src/contracts/host-facts.ts';
import { createLogger } from '../../src/platform/log.ts';
import { createEngine } from '../../src/sandbox/engine/docker/engine.ts';
import { createCapabilities } from '../../src/sandbox/lifecycle/base/sandbox-capabilities.ts';
import { inspectEngine } from '../../src/setup/engine-facts.ts';
import { ensureGvisorScript } from '../../src/setup/gvisor-script.ts';
import { ensureRunsc } from '../../src/setup/gvisor.ts';
import type { Narrator } from '../demo/narrator.ts';
import { createOwnEngine, ENGINE_PROGRAM, type OwnEngine } from '../own-engine.ts';
import type { TemporaryStack } from '../temporary-stack.ts';
import { Host } from './hosts.ts';

export interface Fleet {
  first: Host;
  /** Its engine is one of this demo, which may kill it. */
  second: Host;
  /** Whether sandboxes move with their processes. */
  withProcesses: boolean;
}

/**
 * Two engines on this machine, with the image of sandboxes. The first is that of the environment, unless processes are to move and it has no gVisor: then that is
 * one of this demo, too. Without gVisor, or where an engine cannot use it, files are moved only.
 */
export async function startFleet(stack: TemporaryStack, narrator: Narrator, { filesOnly }: { filesOnly: boolean }): Promise<Fleet> {
  const gvisor = filesOnly ? { problem: 'it was started with --files' } : await findGvisor(stack, narrator);
  const script = 'script' in gvisor ? gvisor.script : undefined;
  const needsOwn = script !== undefined && !(await environmentHas(script));
  narrator.tell(needsOwn ? 'starting two Docker engines beside that of this machine, with gVisor' : 'starting a second Docker engine');
  const engines = await Promise.all([needsOwn ? startEngine(stack, 'dockerd', script) : undefined, startEngine(stack, ENGINE_PROGRAM, script)]);
  for (const [index, engine] of engines.entries()) narrator.tell(`host "${IDS[index]}": ${await describe(engine)}`);

  const problem = 'problem' in gvisor ? gvisor.problem : await whyNoCheckpoints(stack, engines);
  const withProcesses = problem === undefined;
  narrator.tell(
    withProcesses ? 'both can move processes: gVisor and checkpoints were tried on them' : `no process can be moved here, so files are: ${problem}`,
  );
  const settings = { LONGSHORE_DEMO_RUNTIME: withProcesses ? 'runsc' : 'runc', LONGSHORE_COPY_CHECKPOINTS: withProcesses ? 'yes' : 'no' };
  // The agent's file names the runtime by this variable, here and in the workers.
  Object.assign(process.env, settings);
  const [first, second] = IDS.map((id, index) => new Host({ id, stack, engine: engines[index], settings }));
  return { first: first!, second: second!, withProcesses };
}

const IDS = ['first', 'second'];

/** The script by which engines start gVisor, which is built where it is missing and Go is there; or why there is none. */
async function findGvisor(stack: TemporaryStack, narrator: Narrator): Promise<{ script: string } | { problem: string }> {
  const { LONGSHORE_HOME: home } = stack.config;
  const ensuring = Promise.allSettled([ensureRunsc({ home, log: (line) => narrator.tell(line), signal: stack.interrupted })]);
  stack.alsoStop(async () => void (await ensuring));
  const [ensured] = await ensuring;
  if (ensured.status === 'fulfilled') return { script: (await ensureGvisorScript(home)).script };
  if (isFailure(ensured.reason, 'SETUP_FAILED')) return { problem: ensured.reason.message };
  throw ensured.reason;
}

async function environmentHas(script: string): Promise<boolean> {
  const report = await inspectEngine(process.env['DOCKER_HOST']);
  return report.outcome === 'present' && report.experimental && report.gvisorProgram === script;
}

async function startEngine(stack: TemporaryStack, program: string, runsc: string | undefined): Promise<OwnEngine> {
  const engine = await createOwnEngine({ program, runsc });
  stack.alsoStop(async () => engine[Symbol.asyncDispose]());
  await engine.start({ liveRestore: false });
  await engine.takeImage(stack.config.LONGSHORE_SANDBOX_IMAGE);
  return engine;
}

async function describe(engine: OwnEngine | undefined): Promise<string> {
  if (engine !== undefined) return `Docker ${await engine.version()}, which ends with this demo`;
  const report = await inspectEngine(process.env['DOCKER_HOST']);
  return `Docker ${report.outcome === 'present' ? report.version : '?'}, the engine of this machine`;
}

/** Says what the first engine lacks that cannot put a container to disk and wake it. */
async function whyNoCheckpoints({ config }: TemporaryStack, engines: (OwnEngine | undefined)[]): Promise<string | undefined> {
  const { DOCKER_HOST, LONGSHORE_INSTALLATION: installation, LONGSHORE_SANDBOX_IMAGE: standardImage } = config;
  const log = createLogger({ LONGSHORE_LOG_LEVEL: 'silent' });
  const probe = (engine: OwnEngine | undefined): Promise<SandboxCapabilities> =>
    createCapabilities({ engine: createEngine(engine?.host ?? DOCKER_HOST), installation, standardImage, log })();
  const lacking = (await Promise.all(engines.map(probe))).find(({ checkpoint }) => !checkpoint);
  return lacking && (lacking.problem ?? 'an engine cannot make checkpoints');
}

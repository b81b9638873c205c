import { randomBytes } from 'node:crypto';
import { isFailure } from '../../../contracts/errors.ts';
import type { SandboxCapabilities } from '../../../contracts/host-facts.ts';
import { checkpointName } from '../../engine/labels.ts';
import type { DockerContext } from './docker-context.ts';
import type { Checkpoints, Gvisor } from '../../engine/engine.ts';
import { LABEL } from '../../engine/labels.ts';
import { pastCheckpoint } from './past-checkpoint.ts';
import { retried } from '../../../platform/retried.ts';

type Needed = Pick<DockerContext, 'engine' | 'installation' | 'standardImage' | 'log'>;

/** Probes each engine, identified by its id, once per process. After an engine's settings have changed, only a new process probes it again. */
export function createCapabilities(context: Needed): () => Promise<SandboxCapabilities> {
  const known = new Map<string, Promise<SandboxCapabilities>>();
  return async () => {
    const { id, runtimes } = await context.engine.facts();
    const { gvisor, checkpoints } = context.engine;
    if (gvisor === undefined || checkpoints === undefined || !runtimes.includes('runsc'))
      return { gvisor: false, checkpoint: false, problem: 'the engine has no runtime named runsc' };
    const found = known.get(id) ?? probe(context, { gvisor, checkpoints });
    known.set(id, found);
    // A probe that failed is not cached.
    found.catch(() => known.delete(id));
    return found;
  };
}

/** Checkpoints and restores a small container. Version numbers are not enough: the result depends on the engine, the runtime, their settings and the kernel. */
async function probe(context: Needed, { gvisor, checkpoints }: { gvisor: Gvisor; checkpoints: Checkpoints }): Promise<SandboxCapabilities> {
  const { engine, installation, standardImage, log } = context;
  const name = `probe.${installation}-${randomBytes(4).toString('hex')}`;
  const labels = { [LABEL.installation]: installation, [LABEL.role]: 'probe' };
  let starts = false;
  let stage: Stage | undefined;
  try {
    // A holder of its own, so that the probe can remove all that it made.
    const holder = await gvisor.createHelper({ name: `${name}.holder`, image: standardImage, labels, runtime: { name: 'runc' } });
    await engine.start(holder);
    const container = await gvisor.createHelper({ name, image: standardImage, labels, runtime: { name: 'runsc', holder } });
    stage = 'run a container';
    starts = await engine.start(container);
    stage = 'checkpoint a container and restore it';
    await checkpoints.make(container, checkpointName(0));
    // The engine notices the end a moment later. Before that it treats the container as running, and restores nothing.
    await pastCheckpoint(context, { containerName: name, generation: 0 });
    await retried(() => checkpoints.restore(container, checkpointName(0)), { log, what: 'the first try at waking from a checkpoint' });
    if ((await engine.inspect(container))?.status === 'running') return { gvisor: starts, checkpoint: true };
    return { gvisor: starts, checkpoint: false, problem: await explain(gvisor, stage, 'a container that was restored from its checkpoint ended at once') };
  } catch (error) {
    if (!isFailure(error, 'DOCKER_FAILED')) throw error;
    log.info({ gvisor: starts, problem: error.message }, 'this engine cannot hibernate sandboxes');
    const problem = `the engine refused to ${error.values['action']}: ${error.values['problem']}`;
    return { gvisor: starts, checkpoint: false, problem: await explain(gvisor, stage, problem) };
  } finally {
    for (const container of [name, `${name}.holder`]) {
      await engine.removeContainer(container).catch((error: unknown) => log.warn({ container, err: error }, 'a probe is left to the reaper'));
    }
  }
}

/** What gVisor was asked to do. An error before the first stage is not caused by gVisor. */
type Stage = 'run a container' | 'checkpoint a container and restore it';

/** Adds to the engine's message the program and what to do, which the message does not contain. */
async function explain(gvisor: Gvisor, stage: Stage | undefined, words: string): Promise<string> {
  const program = stage && (await gvisor.program());
  if (!program) return words;
  const { path, version, isOurs } = program;
  const cannot = `runsc${version === undefined ? '' : ` ${version}`} at ${path} cannot ${stage} (${words})`;
  return isOurs ? cannot : `${cannot}; \`longshore setup --gvisor\` installs one that can`;
}

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import type { SandboxOptions } from '../../../../src/contracts/agent.ts';
import { failure } from '../../../../src/contracts/errors.ts';
import { runtimeFor } from '../../../../src/sandbox/lifecycle/make/new-container.ts';
import { createCapabilities } from '../../../../src/sandbox/lifecycle/base/sandbox-capabilities.ts';
import type { DockerContext } from '../../../../src/sandbox/lifecycle/base/docker-context.ts';
import type { Checkpoints, ContainerState, Engine, Gvisor, GvisorProgram } from '../../../../src/sandbox/engine/engine.ts';
import { askGvisorProgram } from '../../../../src/sandbox/engine/docker/gvisor-program.ts';

type Answers = Partial<Omit<Engine, 'gvisor' | 'checkpoints'>> & { gvisor?: Partial<Gvisor>; checkpoints?: Partial<Checkpoints> };

/** An engine of which only the answers matter that a host's first try asks for. */
function engineThat({ gvisor, checkpoints, ...answers }: Answers): Engine {
  const resting: ContainerState = { id: 'c', status: 'hibernated', checkpoint: 'rest-0', outOfMemory: false, labels: {}, runtime: 'runsc', execs: 0 };
  const able = {
    facts: async () => ({ id: 'engine', runtimes: ['runc', 'runsc'] }),
    gvisor: { createHelper: async () => 'c', program: async () => undefined, ...gvisor },
    checkpoints: { make: async () => undefined, list: async () => ['rest-0'], restore: async () => undefined, ...checkpoints },
    start: async () => true,
    inspect: async () => resting,
    removeContainer: async () => undefined,
  };
  return { ...able, ...answers } as unknown as Engine;
}
const capabilitiesOf = (answers: Answers) =>
  createCapabilities({ engine: engineThat(answers), installation: 'test', standardImage: 'image', log: pino({ level: 'silent' }) })();
const refuse = (action: string) => async () => Promise.reject(failure('DOCKER_FAILED', { action, problem: 'too old' }));

test('what a host can do is tried, and told with the reason where it cannot', async () => {
  expect(await capabilitiesOf({ facts: async () => ({ id: 'engine', runtimes: ['runc'] }) as Awaited<ReturnType<Engine['facts']>> })).toEqual({
    gvisor: false,
    checkpoint: false,
    problem: 'the engine has no runtime named runsc',
  });
  expect(await capabilitiesOf({ start: refuse('start it') })).toEqual({
    gvisor: false,
    checkpoint: false,
    problem: 'the engine refused to start it: too old',
  });
  expect(await capabilitiesOf({ checkpoints: { make: refuse('checkpoint it') } })).toEqual({
    gvisor: true,
    checkpoint: false,
    problem: 'the engine refused to checkpoint it: too old',
  });
});

test('a gVisor that cannot hibernate is named, with the way to one that can; ours is only named', async () => {
  const debians = { path: '/usr/bin/runsc', version: '0.0~20221219.0', isOurs: false };
  const createHelper: Gvisor['createHelper'] = async ({ runtime }) => (runtime.name === 'runc' ? 'holder' : 'c');
  const problemWith = async (program: GvisorProgram, { gvisor, ...answers }: Answers) =>
    (await capabilitiesOf({ gvisor: { program: async () => program, ...gvisor }, ...answers })).problem;
  expect(await problemWith(debians, { gvisor: { createHelper }, start: async (id) => (id === 'holder' ? true : refuse('start it')()) })).toBe(
    'runsc 0.0~20221219.0 at /usr/bin/runsc cannot run a container (the engine refused to start it: too old); `longshore setup --gvisor` installs one that can',
  );
  expect(await problemWith({ path: '/opt/runsc', isOurs: false }, {})).toBe(
    'runsc at /opt/runsc cannot checkpoint a container and restore it (a container that was restored from its checkpoint ended at once); ' +
      '`longshore setup --gvisor` installs one that can',
  );
  expect(await problemWith({ path: '/home/longshore-runsc', isOurs: true }, { checkpoints: { make: refuse('checkpoint it') } })).toBe(
    'runsc at /home/longshore-runsc cannot checkpoint a container and restore it (the engine refused to checkpoint it: too old)',
  );
  // Not gVisor's fault.
  expect(await problemWith(debians, { gvisor: { createHelper: refuse('create the holder') } })).toBe('the engine refused to create the holder: too old');
});

test('a gVisor is asked for its version where it runs on this machine, and need not know it', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'longshore-runsc-'));
  try {
    const write = (name: string, version: string) =>
      writeFile(join(directory, name), `#!/bin/sh\necho "runsc version ${version}"; echo spec: 1.2.1\n`, { mode: 0o755 });
    await write('runsc', '0.0~20221219.0');
    await write('longshore-runsc', 'VERSION_MISSING');
    const path = join(directory, 'runsc');
    expect(await askGvisorProgram(path, true)).toEqual({ path, version: '0.0~20221219.0', isOurs: false });
    expect(await askGvisorProgram(path, false)).toEqual({ path, isOurs: false });
    expect(await askGvisorProgram(join(directory, 'longshore-runsc'), true)).toEqual({ path: join(directory, 'longshore-runsc'), isOurs: true });
    expect(await askGvisorProgram(join(directory, 'none'), true)).toEqual({ path: join(directory, 'none'), isOurs: false });
  } finally {
    await rm(directory, { recursive: true });
  }
});

test.each<[SandboxOptions, checkpoint: boolean, runtime: string]>([
  [{}, true, 'runc'],
  [{ hibernateAfterMs: 1 }, true, 'runsc'],
  [{ hibernateAfterMs: 1 }, false, 'runc'],
  [{ runtime: 'auto' }, true, 'runsc'],
  [{ runtime: 'auto' }, false, 'runc'],
  [{ runtime: 'runc', hibernateAfterMs: 1 }, true, 'runc'],
  [{ runtime: 'runsc' }, false, 'runsc'],
])('of a sandbox with %j on a host that can put it to disk (%j) the runtime is %s', async (options, checkpoint, runtime) => {
  const context = { capabilities: async () => ({ gvisor: checkpoint, checkpoint }) } as DockerContext;
  expect(await runtimeFor(context, options)).toBe(runtime);
});

import { pino } from 'pino';
import type { SandboxOptions } from '../../../src/contracts/agent.ts';
import { failure } from '../../../src/contracts/errors.ts';
import { runtimeFor } from '../../../src/sandbox/docker/bring-up.ts';
import { createCapabilities } from '../../../src/sandbox/docker/capabilities.ts';
import type { DockerContext } from '../../../src/sandbox/docker/context.ts';
import type { ContainerState, Engine } from '../../../src/sandbox/docker/engine.ts';

/** An engine of which only the answers matter that a host's first try asks for. */
function engineThat(answers: Partial<Engine>): Engine {
  const resting: ContainerState = { id: 'c', status: 'hibernated', checkpoint: 'rest-0', outOfMemory: false, labels: {}, runtime: 'runsc', execs: 0 };
  const able = {
    facts: async () => ({ id: 'engine', runtimes: ['runc', 'runsc'] }),
    createHelper: async () => 'c',
    start: async () => true,
    checkpoint: async () => undefined,
    checkpointsOf: async () => ['rest-0'],
    inspect: async () => resting,
    restore: async () => undefined,
    removeContainer: async () => undefined,
  };
  return { ...able, ...answers } as unknown as Engine;
}
const capabilitiesOf = (answers: Partial<Engine>) =>
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
  expect(await capabilitiesOf({ checkpoint: refuse('checkpoint it') })).toEqual({
    gvisor: true,
    checkpoint: false,
    problem: 'the engine refused to checkpoint it: too old',
  });
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

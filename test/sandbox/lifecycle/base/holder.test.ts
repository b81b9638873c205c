import { ensureHolder } from '../../../../src/sandbox/lifecycle/base/holder.ts';
import { createEngine } from '../../../../src/sandbox/engine/docker/engine.ts';
import { loadConfig } from '../../../../src/platform/config.ts';
import { createTestSandboxes } from '../support.ts';

test('the network holder goes with the last process that used it, unless a container joins it', async () => {
  await using parts = await createTestSandboxes();
  const { docker, installation } = parts;
  const standardImage = loadConfig().LONGSHORE_SANDBOX_IMAGE;
  const engine = createEngine(loadConfig().DOCKER_HOST);
  const left = async () => (await docker.listContainers({ all: true, filters: { label: [`longshore.installation=${installation}`] } })).length;
  const id = await ensureHolder({ engine, installation, standardImage });
  const member = await docker.createContainer({
    Image: standardImage,
    Labels: { 'longshore.installation': installation },
    HostConfig: { NetworkMode: `container:${id}` },
  });
  try {
    await parts.another()[Symbol.asyncDispose]();
    expect(await left()).toBe(2);
  } finally {
    await member.remove({ force: true });
  }
  // Who only visits an installation changes nothing in it.
  await parts.another({ role: 'visitor' })[Symbol.asyncDispose]();
  expect(await left()).toBe(1);
  await parts.another()[Symbol.asyncDispose]();
  expect(await left()).toBe(0);
});

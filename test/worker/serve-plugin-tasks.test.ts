import { ownSandboxIdOf } from '../../src/plugins/dialects/shared/python/own-sandboxes.ts';
import { startPluginTasks } from '../../src/worker/serve-plugin-tasks.ts';

const row = (pluginId: string, tenantId: string, sandboxId = ownSandboxIdOf(pluginId, tenantId)) => ({
  sandboxId,
  tenantId,
  options: { metadata: { plugin: pluginId } },
});

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 10));
}

test('the sandboxes of plugins that run on this host are visited, and one that takes long or fails keeps no other waiting', async () => {
  const visited: string[] = [];
  const logged: unknown[] = [];
  const asked: unknown[] = [];
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  const plugin = {
    async answerTasks(tenantId: string) {
      visited.push(tenantId);
      if (tenantId === 'slow') await held;
      if (tenantId === 'broken') throw new Error('gone');
    },
  };
  const rows = [row('bell', 'slow'), row('bell', 'broken'), row('bell', 'forged', 'sbx_of_a_conversation'), row('absent', 'a'), row('bell', 'quick')];
  const serving = startPluginTasks({
    store: {
      sandboxes: { list: async (filter: object) => (asked.push(filter), rows) },
      pluginTimers: { due: async () => [] },
      pluginWebhooks: { due: async () => [] },
    },
    registry: { tools: [{ isolation: 'own' }], plugin: (id: string) => (id === 'bell' ? plugin : undefined) },
    sandboxes: { hostId: 'host-1' },
    agents: new Map(),
    wake: async () => undefined,
    log: { info: (about: object) => logged.push(about), debug: () => undefined },
  } as never);
  const quick = () => visited.filter((tenantId) => tenantId === 'quick').length;
  await until(() => quick() === 2);
  release();
  await serving.stop();
  expect(visited.filter((tenantId) => tenantId !== 'quick')).toEqual(['slow', 'broken']);
  expect(logged).toMatchObject([{ plugin: 'bell', sandboxId: ownSandboxIdOf('bell', 'broken') }]);
  expect(asked[0]).toEqual({ hostId: 'host-1', states: ['running'] });
});

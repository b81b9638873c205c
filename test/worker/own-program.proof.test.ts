import { pino } from 'pino';
import { loadAgents } from '../../src/definitions/agents/load-agents.ts';
import { createModels } from '../../src/models/create-models.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { BUILTIN_PLUGINS } from '../../src/plugins/builtin/builtin-plugins.ts';
import { createPluginServices } from '../../src/plugins/load/create-plugin-services.ts';
import { createRegistry } from '../../src/plugins/registry/registry.ts';
import { createSandboxes, createWorker } from '../../src/worker.ts';
import { startApi } from '../api/support.ts';
import { install } from '../e2e/support.ts';

const log = pino({ level: 'silent' });

test('a program with createWorker serves the sandboxes of its host to the HTTP service, and no longer when it has ended', async () => {
  await using installation = await install([{ call: 'shell:run', with: { command: 'echo made > made.txt' }, expect: { exitCode: 0 } }, { say: 'Made.' }]);
  const { environment, store, longshore } = installation;
  const { LONGSHORE_HOST_ADDRESS: _address, ...config } = loadConfig(environment);
  await using sandboxes = await createSandboxes({ config: loadConfig(environment), store, log });
  const worker = await createWorker({
    config,
    store,
    sandboxes,
    registry: createRegistry(BUILTIN_PLUGINS),
    agents: await loadAgents(config.LONGSHORE_AGENTS),
    models: createModels({ readEnvironment: () => undefined, log }),
    services: createPluginServices({}),
    log,
  });
  const running = worker.run();
  const chat = await longshore.start({ agent: 'scripted', user: 'user-1', tenant: 'north', message: 'Make.' });
  expect(await chat.reply()).toBe('Made.');
  await using service = await startApi(installation);
  const headers = await service.key(['files:read'], 'north');
  const read = () => fetch(`${service.url}/v1/conversations/${chat.id}/files/made.txt`, { headers });
  expect(await (await read()).text()).toBe('made\n');
  await chat.close();
  worker.shutdown();
  await running;
  expect(await store.hosts.list(config.LONGSHORE_HOST_ID)).toEqual([]);
}, 180_000);

import { mkdir, mkdtemp, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PermissionBound } from '../../../src/contracts/agent.ts';
import type { Logger } from '../../../src/platform/log.ts';
import { definePlugin, type Permissions, type PluginDefinition } from '../../../src/plugins/api/define-plugin.ts';
import { loadSource } from '../../../src/plugins/manager/plugin-source.ts';
import { configureInstance, startInstance } from '../../../src/plugins/manager/plugin-instance.ts';
import { problemOf } from '../isolates/support.ts';
import { echoTool } from '../tools.ts';

const log = { child: () => log, info: () => undefined, warn: () => undefined } as unknown as Logger;

function start(permissions: Permissions, bound: PermissionBound, more: Partial<PluginDefinition> = {}) {
  const plugin = definePlugin({ id: 'p', tools: [echoTool('run', { permissions })], ...more });
  return startInstance(plugin, { config: {}, configVersion: 1 }, { bounds: [bound], environment: () => 'set', log });
}

const fix = (key: string) => `To allow it, add ${key} at the plugin's entry of "plugins" in the agent's file`;

describe('a plugin that wants no more than its bound is loaded, one that wants more is refused with the key that would allow it', () => {
  test.each<[string, Permissions, PermissionBound, Permissions, string]>([
    ['time', { time: true }, { time: true }, { time: true }, `, which an agent does not grant. ${fix('permissions.time: true')}`],
    ['random', { random: true }, { random: true }, { random: true }, `, which an agent does not grant. ${fix('permissions.random: true')}`],
    [
      'network',
      { network: ['Api.example', 'api.example:8443', 'b.example:1'] },
      { network: ['api.example', 'b.example:1'] },
      { network: ['b.example'] },
      ` for "b.example", and an agent grants at most: none. ${fix('"b.example" to permissions.network')}`,
    ],
    [
      'env',
      { env: ['KEY'] },
      { env: ['KEY', 'OTHER'] },
      { env: ['SECRET'] },
      ` for "SECRET", and an agent grants at most: none. ${fix('"SECRET" to permissions.env')}`,
    ],
    [
      'fs',
      { fs: ['/srv/data', '/srv/data/a'] },
      { fs: ['/srv/data'] },
      { fs: ['/srv/data-2'] },
      ` for "/srv/data-2", and an agent grants at most: none. ${fix('"/srv/data-2" to permissions.fs')}`,
    ],
  ])('%s', async (permission, within, bound, beyond, problem) => {
    await expect(start(within, bound)).resolves.toMatchObject({ bounds: [bound] });
    expect(await problemOf(start(beyond, {}))).toBe(`Plugin "p": its tool "run" asks for the permission ${permission}${problem}`);
    const other = { ...bound, time: false, random: false, network: ['a.example'], env: ['A'], fs: ['/a'] };
    await expect(start(beyond, other)).rejects.toMatchObject({ code: 'PLUGIN_INVALID' });
  });
});

test('a host with one port does not cover the others, and no host covers what only ends like it', async () => {
  const bound = { network: ['api.example:443', 'evil.example'] };
  for (const host of ['api.example', 'api.example:80', 'notevil.example', 'sub.evil.example']) {
    expect(await problemOf(start({ network: [host] }, bound))).toContain(`for "${host}", and an agent grants at most: api.example:443, evil.example`);
  }
});

test('a path is judged by where it leads', async () => {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'longshore-bounds-')));
  await mkdir(join(directory, 'inside'));
  await mkdir(join(directory, 'outside'));
  await symlink(join(directory, 'outside'), join(directory, 'inside/link'));
  const bound = { fs: [join(directory, 'inside')] };
  await expect(start({ fs: [join(directory, 'inside/later')] }, bound)).resolves.toBeDefined();
  for (const path of ['inside/link', 'inside/../outside', 'outside'])
    await expect(start({ fs: [`${directory}/${path}`] }, bound)).rejects.toThrow(`${path}", and`);
  await rm(directory, { recursive: true });
});

test('the variables of the plugin itself count, and tools that it makes of itself later', async () => {
  const environment = [{ name: 'SECRET', required: true }];
  expect(await problemOf(start({}, {}, { environment }))).toContain('it asks for the permission env for "SECRET"');
  const grown = definePlugin({ id: 'p', tools: [echoTool('run')] });
  const grow = async () => void (grown.tools = [echoTool('run', { permissions: { time: true } })]);
  const parts = { bounds: [{}], environment: () => undefined, log };
  await expect(startInstance({ ...grown, load: grow, tools: grown.tools }, { config: {}, configVersion: 1 }, parts)).resolves.toBeDefined();
  Object.assign(grown, { load: grow });
  expect(await problemOf(startInstance(grown, { config: {}, configVersion: 1 }, parts))).toContain('its tool "run" asks for the permission time');
  const later = definePlugin({ id: 'p', configSchema: { type: 'object' }, tools: [echoTool('run')] });
  Object.assign(later, { updateConfig: async () => void (later.tools = [echoTool('run', { permissions: { random: true } })]) });
  const instance = await startInstance(later, { config: {}, configVersion: 1 }, parts);
  expect(await problemOf(configureInstance(instance, { config: {}, configVersion: 2 }, parts))).toContain('its tool "run" asks for the permission random');
  expect(instance.plugin.tools[0]?.permissions).toEqual({});
});

test('each agent that names a plugin may bound it, and the narrowest bound counts', async () => {
  const plugin = definePlugin({ id: 'p', tools: [echoTool('run', { permissions: { network: ['a.example', 'b.example'] } })] });
  const bounds = [{ network: ['a.example', 'b.example'] }, { network: ['a.example'] }];
  const started = startInstance(plugin, { config: {}, configVersion: 1 }, { bounds, environment: () => undefined, log });
  expect(await problemOf(started)).toContain('its tool "run" asks for the permission network for "b.example", and an agent grants at most: a.example');
});

test("a bound for a plugin in the worker's own process is refused, since none holds there", async () => {
  const source = { name: './p', pins: [{ permissions: {} }] };
  expect(await problemOf(loadSource(source, { directory: '/', hostPlugins: ['./p'], isolates: undefined }))).toBe(
    'Plugin "./p": an agent bounds its permissions, and it runs in the worker\'s own process, where no bound holds. ' +
      'Take it out of LONGSHORE_HOST_PLUGINS, or take "permissions" away from its entry in the agent\'s file',
  );
});

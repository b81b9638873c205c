import { until } from '../../e2e/support.ts';
import { call, sourceOf, useManagerBench, type Workbench } from './manager-workbench.ts';

let bench: Workbench;
useManagerBench((opened) => ({ bench } = opened));

const reportOf = (name: string) => bench.states.written.get(name);

const CONFIGURABLE = `configSchema: { type: 'object', properties: { size: { type: 'integer', default: 3 } } },
  updateConfig: async (scope: string, config: any) => { if (config.size === 7) throw new Error('seven'); configured = config.size; },`;

test('changes of several plugins take effect although one cannot be applied now, and that one is applied later', async () => {
  for (const id of ['a', 'b']) await bench.write(`${id}/index.ts`, sourceOf(id, 'return configured', CONFIGURABLE));
  const manager = await bench.open(['./a', './b']);
  await Promise.all([call(manager, 'a:run'), call(manager, 'b:run')]);
  const takeBack = bench.states.takeBackConfig.bind(bench.states);
  bench.states.takeBackConfig = () => Promise.reject(new Error('Postgres is away'));
  bench.states.want('a', { config: { size: 7 }, configVersion: 1 });
  bench.states.want('b', { enabled: false });
  await expect(manager.follow()).rejects.toThrow('Postgres is away');
  expect(manager.registry.get('b:run')).toBeUndefined();
  expect(reportOf('./b')).toMatchObject({ health: 'disabled' });
  bench.states.takeBackConfig = takeBack;
  await manager.follow();
  expect(bench.states.rows.get('a')).toMatchObject({ configVersion: 2, configProblem: expect.stringContaining('seven') as string });
  await manager.follow();
  expect(manager.configOf('a')).toEqual({ size: 3 });
});

test('a network that could not be changed is changed later', async () => {
  await bench.write('p/index.ts', sourceOf('p', 'return 1'));
  const manager = await bench.open(['./p']);
  const given: (readonly string[])[] = [];
  const plugin = manager.registry.plugin('p')!;
  plugin.setNetwork = () => Promise.reject(new Error('the engine is away'));
  bench.states.want('p', { granted: { network: ['a.example'] } });
  await expect(manager.follow()).rejects.toThrow('the engine is away');
  plugin.setNetwork = async (hosts) => void given.push(hosts);
  await manager.follow();
  await manager.follow();
  expect(given).toEqual([['a.example']]);
});

test('a disabled plugin with a network of its own reaches nothing once its calls have ended, and one that is loaded again keeps its network', async () => {
  const source = sourceOf('p', 'await context.fetch("https://wait.example"); return 1');
  await bench.write('p/index.ts', source.replace('parameters: {', "permissions: { network: ['wait.example'] }, parameters: {"));
  const manager = await bench.open(['./p']);
  const given: (readonly string[])[] = [];
  const withNetwork = () => {
    manager.registry.plugin('p')!.setNetwork = async (hosts) => void given.push(hosts);
  };
  withNetwork();
  bench.states.want('p', { reloads: 1 });
  await manager.follow();
  withNetwork();
  let answer = () => {};
  const asked = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const running = call(manager, 'p:run', { fetch: async () => (await asked, new Response('')) });
  bench.states.want('p', { enabled: false });
  await manager.follow();
  expect(given).toEqual([]);
  answer();
  expect(await running).toBe(1);
  await until(async () => given.length > 0, 'the network is taken away');
  expect(given).toEqual([[]]);
});

import { contextOf, openWorkbench, run, sourceOf, until, type Workbench } from './support.ts';

let bench: Workbench;
beforeAll(async () => {
  bench = await openWorkbench();
});
afterAll(() => bench[Symbol.asyncDispose]());

const linesWith = (text: string) => bench.logged.filter((line) => line.includes(text)).length;

test('the timers of a compartment end with it, and it starts no others', async () => {
  const tick = `const again = (): unknown => setTimeout(() => { console.log('chain of ' + input.name); again(); }, 5);
    again();
    setInterval(() => console.log('tick of ' + input.name), 5);`;
  const plugin = await bench.load('ticks', sourceOf('ticks', { tick, nothing: '' }));
  await run(plugin, 'tick', { name: 'early' }, contextOf('conv-early'));
  await until(() => linesWith('tick of early') > 0 && linesWith('chain of early') > 0);
  for (let number = 0; number < 64; number += 1) await run(plugin, 'nothing', {}, contextOf(`conv-${number}`));
  const before = linesWith('of early');
  await run(plugin, 'tick', { name: 'late' }, contextOf('conv-late'));
  await until(() => linesWith('tick of late') > 20);
  expect(linesWith('of early') - before).toBeLessThanOrEqual(2);
});

test('a compartment that is made while the configuration changes gets the new one', async () => {
  const plugin = await bench.load(
    'slow',
    `import { definePlugin, defineTool } from 'longshore/plugins';
     let config: any;
     let gate: Promise<void> | undefined;
     let open = () => {};
     const tool = (id: string, execute: () => Promise<any>) => defineTool({ id, description: 'd', parameters: { type: 'object' }, execute });
     export default definePlugin({ id: 'slow', tools: [
       tool('hold', async () => { gate = new Promise((done) => { open = done; }); return 'held'; }),
       tool('release', async () => { open(); return 'released'; }),
       tool('read', async () => config)],
       async load(host) { config = host.config.value; },
       async updateConfig(_scope, data) { if (gate) console.log('a change waits'); await gate; config = data.value; } });`,
  );
  await plugin.load?.({ env: {}, config: { value: 'old' }, logger: { info: () => undefined, warn: () => undefined } });
  const [one, two] = [contextOf('conv-1'), contextOf('conv-2')];
  await run(plugin, 'hold', {}, one);
  const changed = plugin.updateConfig?.('self', { value: 'new' }, '2');
  await until(() => linesWith('a change waits') > 0);
  expect(await run(plugin, 'read', {}, two)).toBe('old');
  await run(plugin, 'release', {}, one);
  await changed;
  expect([await run(plugin, 'read', {}, one), await run(plugin, 'read', {}, two)]).toEqual(['new', 'new']);
});

test('what timers of a plugin print without end does not fill the log of the worker', async () => {
  const floods = `setTimeout(() => { for (let line = 0; line < 600; line += 1) console.log('flood ' + 'x'.repeat(3_900)); }, 5);`;
  const plugin = await bench.load('flood', sourceOf('flood', { floods }));
  await run(plugin, 'floods', {}, contextOf('conv-flood'));
  await until(() => linesWith('until the minute is over, its lines are left out {"plugin":"flood"}') > 0);
  expect(linesWith('flood xxx')).toBe(244);
});

import { childrenOf, openWorkbench, problemOf, run, sourceOf } from './support.ts';

// In a file of its own: other isolates of this process could start a process at any time.
test('no process and no file is left when the isolates are disposed of', async () => {
  {
    // Starts the bundler, whose process stays for as long as this one.
    await using first = await openWorkbench();
    await first.load('first', sourceOf('first', {}));
  }
  const others = await childrenOf(process.pid);
  const own = await openWorkbench();
  const plugin = await own.load('last', sourceOf('last', { wait: 'await new Promise(() => 0)' }));
  const pids = (await childrenOf(process.pid)).filter((pid) => !others.includes(pid));
  const inFlight = problemOf(run(plugin, 'wait'));
  await own[Symbol.asyncDispose]();
  expect(await inFlight).toBe('last:wait failed: its process was ended: the plugin was closed');
  const left = (await childrenOf(process.pid)).filter((pid) => pids.includes(pid));
  expect(left).toEqual([]);
  expect(pids.length).toBeGreaterThan(0);
  expect(await problemOf(run(plugin, 'wait'))).toBe('last:wait failed: its plugin was closed: it was disabled or loaded again, or the worker is stopping');
});

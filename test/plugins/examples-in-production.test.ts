import { resolve } from 'node:path';
import { loadAgents } from '../../src/definitions/agents/load-agents.ts';
import { sourcesOf } from '../../src/plugins/manager/plugin-source.ts';
import { openWorkbench, type Workbench } from './isolates/support.ts';
import { openManagerBench } from './manager/manager-workbench.ts';

let bench: Workbench;
beforeAll(async () => {
  bench = await openWorkbench();
});
afterAll(() => bench[Symbol.asyncDispose]());

test.each(['agents', 'examples/agents'])('the agents of %s grant their plugins what these ask for', async (directory) => {
  await using managed = await openManagerBench(bench.isolates);
  const agents = await loadAgents(resolve(directory), undefined, 'leave');
  const sources = sourcesOf(agents.values()).filter(({ name }) => !name.startsWith('mcp:'));
  await managed.open([], { sources, directory: resolve(directory), requireGrants: true });
  const reports = [...managed.states.written.values()].map(({ name, health, error }) => `${name} ${health} ${error ?? ''}`.trim());
  expect(reports.toSorted()).toEqual(sources.map(({ name }) => `${name} loaded`).toSorted());
  if (directory === 'examples/agents') expect(sources.length).toBeGreaterThan(6);
});

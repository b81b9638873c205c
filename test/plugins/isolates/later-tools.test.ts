import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { contextOf, openWorkbench, run, type Workbench } from './support.ts';

let bench: Workbench;
beforeAll(async () => {
  bench = await openWorkbench();
});
afterAll(() => bench[Symbol.asyncDispose]());

/** A plugin that offers its tool for the sandbox only when it is loaded. */
const source = (version: string) => `import { definePlugin, defineTool } from 'longshore/plugins';
  const count = () => defineTool({ id: 'count', description: 'd', parameters: { type: 'object' }, isolation: 'container', execute: () => '${version}' });
  export default definePlugin({ id: 'later', tools: [], load: async () => ({ tools: [count()] }) });`;

test('a tool for the sandbox that comes with `load` runs the code that was loaded, also when the files are others since', async () => {
  const plugin = await bench.load('later', source('the version that was loaded'));
  await plugin.load?.({ env: {}, config: {}, logger: { info: () => undefined, warn: () => undefined } });
  expect(plugin.tools.map(({ id, isolation }) => [id, isolation])).toEqual([['count', 'container']]);
  await writeFile(join(bench.directory, 'later/index.ts'), source('another version'));
  const codes: string[] = [];
  const sandbox = {
    async runTool({ request }: { request: { code: string } }) {
      codes.push(request.code);
      return { status: 'exited', exitCode: 0, stdout: {}, stderr: { text: '' } };
    },
  };
  await expect(run(plugin, 'count', {}, contextOf('conv-1', { sandbox: sandbox as never }))).rejects.toThrow('gave no result');
  expect(codes).toHaveLength(1);
  expect([codes[0]?.includes('the version that was loaded'), codes[0]?.includes('another version')]).toEqual([true, false]);
});

import { readFile } from 'node:fs/promises';
import type { Plugin } from '../../../../src/plugins/api/define-plugin.ts';
import type { Tool } from '../../../../src/plugins/api/tool.ts';
import { openWorkbench, type Workbench } from '../../isolates/support.ts';

export const CONVERSATION = { conversationId: 'conv-1', userId: 'user-1', tenantId: 'tenant-1', agentId: 'agent-1' };

const FIXTURE = new URL('../../../e2e/fixtures/harbour/index.ts', import.meta.url);

/** Plugins in the style of Nekro, in isolated processes as a worker has them. They are there while the tests of the file run. */
export interface Trials {
  /** The plugin that the end-to-end tests use, too. */
  readonly harbour: Plugin;
  /** Loads a plugin with the id `trial` that has these mounts; `options` are more fields of its constructor. */
  load(this: void, body: string, options?: string): Promise<Plugin>;
}

export function openTrials(): Trials {
  let bench: Workbench;
  let harbour: Plugin;
  let loads = 0;
  beforeAll(async () => {
    bench = await openWorkbench();
    harbour = await bench.load('harbour', await readFile(FIXTURE, 'utf8'));
  });
  afterAll(() => bench[Symbol.asyncDispose]());
  return {
    get harbour() {
      return harbour;
    },
    load: (body, options = '') => bench.load(`trial-${(loads += 1)}`, sourceOf(body, options)),
  };
}

export function toolOf(plugin: Plugin, id: string): Tool {
  return plugin.tools.find((one) => one.id === id)!;
}

function sourceOf(body: string, options: string): string {
  return `import { message, NekroPlugin, SandboxMethodType } from 'longshore/nekro';
const plugin = new NekroPlugin({ name: 'Trial', moduleName: 'trial', description: '', version: '1', author: 'me', ${options} });
${body}
export default plugin;`;
}

/** Mounts a function, given as its source. */
export function mount(method: string, kind = 'TOOL'): string {
  return `plugin.mountSandboxMethod(SandboxMethodType.${kind}, 'shown', 'About it.')(${method});`;
}

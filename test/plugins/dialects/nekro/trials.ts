import { readFile } from 'node:fs/promises';
import type { Plugin } from '../../../../src/plugins/api/define-plugin.ts';
import { openWorkbench } from '../../isolates/support.ts';

const FIXTURE = new URL('../../../e2e/fixtures/harbour/index.ts', import.meta.url);

/** Plugins in the style of Nekro, in isolated processes as a worker has them. */
export interface Trials extends AsyncDisposable {
  /** The plugin that the end-to-end tests use, too. */
  harbour: Plugin;
  /** Loads a plugin with the id `trial` that has these mounts; `options` are more fields of its constructor. */
  load(body: string, options?: string): Promise<Plugin>;
}

export async function openTrials(): Promise<Trials> {
  const bench = await openWorkbench();
  let loads = 0;
  return {
    harbour: await bench.load('harbour', await readFile(FIXTURE, 'utf8')),
    load: (body, options = '') => bench.load(`trial-${(loads += 1)}`, sourceOf(body, options)),
    [Symbol.asyncDispose]: () => bench[Symbol.asyncDispose](),
  };
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

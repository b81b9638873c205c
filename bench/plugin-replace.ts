import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLogger } from '../src/platform/log.ts';
import type { Plugin, ToolContext } from '../src/plugins/api/define-plugin.ts';
import { bundlePlugin, type PluginBundle } from '../src/plugins/isolates/bundle-plugin.ts';
import { openIsolates } from '../src/plugins/isolates/load-isolated.ts';
import { percentile, timed, type Measurement } from './measure.ts';

const ROUNDS = 6;
const LIMIT_MS = 100;
const UNRESPONSIVE_MS = 1_000;
/** In which a process is ready for the next one; misdeeds seldom come sooner. */
const BETWEEN_MS = 400;
const MISDEEDS = {
  loop: 'for (;;);',
  leak: 'const all = []; for (;;) all.push(new Array(1_000_000).fill(1.5));',
  flood: 'for (;;) console.log("x");',
};

/** From the moment in which a plugin that misbehaves is cut off until its next call is answered, while a neighbour is called all the time; the 95th percentile. */
export async function measurePluginReplace(context: ToolContext): Promise<Measurement> {
  await using isolates = await openIsolates({ log: createLogger({ LONGSHORE_LOG_LEVEL: 'silent' }), unresponsiveMs: UNRESPONSIVE_MS });
  const directory = await mkdtemp(join(tmpdir(), 'longshore-bench-replace-'));
  const bundle = await bundleOf(directory);
  const neighbour = await isolates.load({ name: 'neighbour', ...bundle });
  const samples: number[] = [];
  const done = new AbortController();
  const visits = (async () => {
    while (!done.signal.aborted) {
      await call(neighbour, 'ping', context);
      await sleep(1);
    }
  })();
  const measure = async () => {
    for (let round = 0; round < ROUNDS; round++) {
      for (const misdeed of Object.keys(MISDEEDS)) {
        const bad = await isolates.load({ name: `${misdeed}-${round}`, ...bundle });
        await sleep(BETWEEN_MS);
        await call(bad, misdeed, context).catch(() => undefined);
        samples.push(await timed(() => call(bad, 'ping', context)));
      }
    }
  };
  await Promise.all([visits, measure().finally(() => done.abort())]);
  await rm(directory, { recursive: true });
  const [p50, p95] = [percentile(samples, 50), percentile(samples, 95)];
  const baseline = { what: 'the limit', p50: LIMIT_MS, p95: LIMIT_MS };
  return { name: 'plugin-replace', ratio: p95 / LIMIT_MS, goal: 1, p50, p95, unit: 'ms', baseline };
}

/** Written as plugins are, with zod, which is what takes longest to evaluate. */
async function bundleOf(directory: string): Promise<PluginBundle> {
  const tools = Object.entries({ ...MISDEEDS, ping: 'return "pong"' }).map(
    ([tool, body]) => `defineTool({ id: '${tool}', description: 'd', parameters: z.object({}), execute: async () => { ${body} } })`,
  );
  const entry = join(directory, 'index.js');
  const imports = `import { definePlugin, defineTool } from 'longshore/plugins';\nimport { z } from 'zod';\n`;
  await writeFile(entry, `${imports}export default definePlugin({ id: 'bench', tools: [${tools.join(', ')}] });`);
  return bundlePlugin('bench', { entry });
}

async function call(plugin: Plugin, tool: string, context: ToolContext): Promise<unknown> {
  return plugin.tools.find(({ id }) => id === tool)?.execute({}, context);
}

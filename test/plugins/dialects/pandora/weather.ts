import { defineAgent } from '../../../../src/definitions/agents/define-agent.ts';
import type { Plugin } from '../../../../src/plugins/api/define-plugin.ts';
import { judgeCalls } from '../../../../src/plugins/approval/judge-calls.ts';
import { createRegistry } from '../../../../src/plugins/registry/registry.ts';
import { openWorkbench, type Workbench } from '../../isolates/support.ts';
import { loadFixture } from '../support.ts';

export const env = { OPENWEATHER_API_KEY: 'k-1', SEARCH_KEY: 's-1', UNUSED_SECRET: 'never' };
export const config = { greeting: 'hi', searchBackend: 'atlas' };
export const agent = defineAgent({ id: 'forecaster', model: 'openai/x', tools: ['@pandorakit/weather:*'] });
export let bench: Workbench;
/** The plugin of the fixture `pandora-weather`. */
export let plugin: Plugin;

/** Loads the plugin before the tests of a file. */
export function useWeather(): void {
  beforeAll(async () => {
    bench = await openWorkbench({ unresponsiveMs: 10_000 });
    plugin = await loadFixture('pandora-weather', bench.isolates);
  });
  afterAll(() => bench[Symbol.asyncDispose]());
}

export const ids = () => plugin.tools.map(({ id }) => id);
export const toolOf = (id: string, of: Plugin = plugin) => createRegistry([of]).get(`${of.id}:${id}`)!;
export const texts = () => plugin.alerts.map(({ level, text }) => `${level}: ${text}`);
/** The decision about a call of one of its tools. */
export const judged = async (tool: string, input = {}) =>
  (await judgeCalls({ registry: createRegistry([plugin]), agent, calls: [{ callId: 'call_1', tool: `@pandorakit/weather:${tool}`, arguments: input }] }))
    .proposed[0];

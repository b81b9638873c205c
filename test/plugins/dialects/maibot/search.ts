import { showOffer } from '../../../../src/tool-calls/offer/offer-tools.ts';
import { defineAgent } from '../../../../src/definitions/agents/define-agent.ts';
import type { JsonObject } from '../../../../src/contracts/json.ts';
import type { Plugin } from '../../../../src/plugins/api/define-plugin.ts';
import { createRegistry, type Registry } from '../../../../src/plugins/registry/registry.ts';
import { contextOf, openWorkbench, problemOf, type Workbench } from '../../isolates/support.ts';
import { loadFixture } from '../support.ts';

export const agent = defineAgent({ id: 'reader', model: 'openai/none', tools: ['*'] });
export let bench: Workbench;
/** The plugin of the fixture `maibot-search`. */
export let plugin: Plugin;
export let registry: Registry;

/** Loads the plugin before the tests of a file. */
export function useSearch(): void {
  beforeAll(async () => {
    bench = await openWorkbench({ unresponsiveMs: 10_000, graceMs: 300 });
    plugin = await loadFixture('maibot-search', bench.isolates);
    registry = createRegistry([plugin]);
  });
  afterAll(() => bench[Symbol.asyncDispose]());
}

export const toolOf = (id: string) => registry.get(`maibot-search:${id}`)!;
export const call = (id: string, input: JsonObject = {}, context = contextOf('conv-1')) => toolOf(id).execute(input, context);
/** What a model is shown. */
export const shown = (over: number) => showOffer({ agent: { ...agent, deferTools: { over, pin: [] } }, available: registry.tools, texts: [] }, registry, []);
/** The result of a tool that answers with a text. */
export const text = (content: string, isError = false) => ({ content: [{ type: 'text', text: content }], isError });

export const header = "import { MaiBotPlugin, tool, workflowStep } from 'longshore/maibot';";
export const hooks = 'onLoad() {} onUnload() {} onConfigUpdate() {}';
/** What goes wrong when a plugin is loaded whose class has this body. */
export const problemOfClass = (name: string, body: string) =>
  problemOf(bench.load(name, `${header}\nclass P extends MaiBotPlugin { id = 'p'; ${body} }\nexport const createPlugin = () => new P();`));

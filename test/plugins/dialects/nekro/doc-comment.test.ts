import { runInThisContext } from 'node:vm';
import { NekroPlugin, type SandboxMethod } from '../../../../src/plugins/dialects/nekro/sdk.ts';
import { run } from '../../isolates/support.ts';
import { CONVERSATION, mount, openTrials, toolOf } from './trials.ts';

const trials = openTrials();
const { load } = trials;

describe('the doc comment', () => {
  test('with summary, Args, Returns and Example becomes the text that the model reads, wherever it stands', async () => {
    const text = await trials.harbour.promptText?.(CONVERSATION);
    expect(text).toMatch(/^<plugin name="Harbour">\nPython and JavaScript code/);
    expect(text).toContain('my_sum_function(num1: int, num2: int)\nCalculate and return the sum of two integers.\n\nArgs:\n    num1 (int): The first addend.');
    expect(text).toContain('Example:\n    theme = preference(preference_key="theme")');
    expect(text).toContain('search_kb(query: str) — the program ends at this call\nSearches the knowledge base.');
    expect(text).toContain('draw(topic: str) — the program ends at this call\nDraws a topic.');
    expect(toolOf(trials.harbour, 'send_chat_message').description).toBe('Sends a text to the user.');
  });

  test('stands at the top of the body, or beside the function as a text, where a plugin is imported as it is', () => {
    const plugin = new NekroPlugin({ name: 'Host', moduleName: 'host', description: '', version: '1', author: 'me' });
    const within = runInThisContext('(async function within(ctx, n) { /** Counts.\n * Args:\n *   n (int): How many. */ return n; })') as SandboxMethod;
    plugin.mountSandboxMethod('tool', 'within')(within);
    plugin.mountSandboxMethod('tool', 'beside')(runInThisContext('(async function beside(ctx, n = 2) {})') as SandboxMethod, '@param {int} n How many.');
    const property = { type: 'integer', description: 'How many.' };
    expect(plugin.tools.map(({ parameters }) => parameters['properties'])).toEqual([{ n: property }, { n: { ...property, default: 2 } }]);
    plugin.mountSandboxMethod('tool', 'short')(runInThisContext("({ async short(ctx, a = ')', b) { /** Shortens. */ } }).short") as SandboxMethod, 'Shows.');
    expect(plugin.tools.map(({ description, parameters }) => [description, parameters['required']]).at(-1)).toEqual(['Shows.', ['b']]);
    expect(plugin.alerts).toEqual([]);
  });

  test('of a function that comes from elsewhere is told to be unknown, and not to be missing; the function can be called', async () => {
    const plugin = await load(`const make = () => async function made(ctx, a = ')', b) { return [a, b]; };
${mount('make()')}
const text = ['Shows ', 'b.'];
plugin.mountSandboxMethod('tool', 'told')(((show) => show)(async function told(ctx, b) { return b; }), text.join(''));`);
    expect(plugin.alerts.map(({ level, text }) => `${level}: ${text}`)).toEqual([
      'warning: the method "made" is described without its comment and types, because its function is not in the file that mounts it, or is made when the plugin runs; mount it in its own file, or give the comment beside it: mountSandboxMethod(…)(method, "Adds. …")',
    ]);
    expect(await plugin.promptText?.(CONVERSATION)).toContain('made(a=")", b)\nAbout it.');
    expect(await run(plugin, 'made', { b: 1 })).toEqual([')', 1]);
    expect(toolOf(plugin, 'told').description).toBe('Shows b.');
    expect(await run(plugin, 'told', { b: 1 })).toBe(1);
  });

  test('that is missing is told as a warning; the method can be called', async () => {
    const plugin = await load(mount('async function quiet(ctx) { return 1; }'));
    expect(plugin.alerts.map(({ level, text }) => `${level}: ${text}`)).toEqual([
      'warning: the method "quiet" has no doc comment, so the model is told little about it',
    ]);
    expect(await run(plugin, 'quiet')).toBe(1);
  });
});

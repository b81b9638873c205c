import { COUNTING_TEST } from '../shared/counting-test.ts';

/** A plugin in the style of Nekro Agent whose method counts words for code in the sandbox. */
export function nekroPlugin(id: string): Record<string, string> {
  return { 'index.ts': code(id), 'index.test.mjs': COUNTING_TEST };
}

const code = (id: string) => `import { NekroPlugin, SandboxMethodType, type AgentCtx } from 'longshore/nekro';

const plugin = new NekroPlugin({ name: 'Words', moduleName: '${id.replaceAll('-', '_')}', description: 'Counts words', version: '0.1.0', author: 'me' });

/** Count the words of a text.
 *
 * Args:
 *     text (str): Text whose words are counted.
 *
 * Returns:
 *     dict: The number as \`words\`.
 *
 * Example:
 *     count(text='one two')['words']
 */
plugin.mountSandboxMethod(SandboxMethodType.TOOL, 'count', 'Counts words')(async function count(ctx: AgentCtx, text: string) {
  return { words: text.split(/\\s+/).filter((word) => word !== '').length };
});

export default plugin;
`;

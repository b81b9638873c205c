import { COUNTING_TEST } from '../shared/counting-test.ts';

/** A plugin in the style of MaiBot that counts words. */
export function maibotPlugin(id: string): Record<string, string> {
  return { 'index.ts': code(id), 'index.test.mjs': COUNTING_TEST };
}

const code = (id: string) => `import { MaiBotPlugin, tool, ToolParameterInfo, ToolParamType } from 'longshore/maibot';

class WordsPlugin extends MaiBotPlugin {
  id = '${id}';
  version = '0.1.0';
  description = 'Counts words';

  async onLoad() {}
  async onUnload() {}
  async onConfigUpdate() {}

  @tool('count', {
    briefDescription: 'Counts the words of a text',
    parameters: [new ToolParameterInfo({ name: 'text', paramType: ToolParamType.STRING, description: 'Text whose words are counted' })],
    annotations: { readOnlyHint: true },
  })
  async count({ text }: { text: string }) {
    return { words: text.split(/\\s+/).filter((word) => word !== '').length };
  }
}

export const createPlugin = () => new WordsPlugin();
`;

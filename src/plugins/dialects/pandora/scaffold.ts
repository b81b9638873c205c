import { COUNTING_TEST } from '../shared/counting-test.ts';

/** A plugin in the style of Pandora that counts words. */
export function pandoraPlugin(id: string): Record<string, string> {
  return {
    'pandora.manifest.json': `${JSON.stringify(manifest(id), undefined, 2)}\n`,
    'index.ts': CODE,
    'pandora.d.ts': TYPES,
    'index.test.mjs': COUNTING_TEST,
  };
}

const manifest = (id: string) => ({
  manifestVersion: 1,
  id,
  name: 'Words',
  description: 'Counts words',
  version: '0.1.0',
  pandora: '>=0.1.0',
  provides: { tools: { entry: './index.ts', sandbox: 'compartment', permissions: {}, requireApproval: false } },
});

const CODE = `import type { Tool } from '@pandorakit/sdk/tools';

const count: Tool = {
  id: 'count',
  name: 'Count words',
  description: 'Counts the words of a text.',
  parameters: {
    type: 'object',
    properties: { text: { type: 'string', description: 'Text whose words are counted.' } },
    required: ['text'],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: true, idempotentHint: true },
  async execute({ text }: { text: string }, { logger }) {
    logger.log('counting');
    return { words: text.split(/\\s+/).filter((word) => word !== '').length };
  },
};

export const tools = [count];
`;

/** Only for the editor and the compiler: it is not loaded. */
const TYPES = `declare module '@pandorakit/sdk/tools' {
  export * from 'longshore/pandora';
}
`;

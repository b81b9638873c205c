/** A plugin of Longshore's own style that counts words and remembers totals. */
export function longshorePlugin(id: string): Record<string, string> {
  return { 'index.ts': plugin(id), 'index.test.mjs': TEST };
}

const plugin = (id: string) => `import { definePlugin, defineTool } from 'longshore/plugins';
import { z } from 'zod';

export default definePlugin({
  id: '${id}',
  version: '0.1.0',
  description: 'Counts words',
  configSchema: { type: 'object', additionalProperties: false, properties: { atLeast: { type: 'integer', minimum: 1, default: 1 } } },
  tools: [
    defineTool({
      id: 'count',
      description: 'Counts the words of a text and all words counted so far in this conversation.',
      parameters: z.object({ text: z.string().max(100_000).describe('Text whose words are counted.') }),
      resultSchema: z.object({ words: z.int(), total: z.int() }),
      async execute({ text }, { store, config }) {
        const words = text.split(/\\s+/).filter((word) => word.length >= Number(config.atLeast)).length;
        // Calls may count at the same time: the total is written only over the one that was read.
        for (;;) {
          const before = await store.entry('total');
          const total = Number(before?.value ?? 0) + words;
          if ((await store.set('total', total, { ifVersion: before?.version ?? 0 })) !== 'conflict') return { words, total };
        }
      },
    }),
  ],
});
`;

const TEST = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPlugin } from 'longshore/testing';

test('counts words, and goes on counting in a conversation', async (t) => {
  const plugin = await openPlugin(import.meta.dirname, { config: { atLeast: 2 } });
  t.after(() => plugin.close());
  assert.deepEqual(await plugin.call('count', { text: 'one or a two' }), { words: 3, total: 3 });
  assert.deepEqual(await plugin.call('count', { text: 'three' }), { words: 1, total: 4 });
});

test('refuses what is no text', async (t) => {
  const plugin = await openPlugin(import.meta.dirname);
  t.after(() => plugin.close());
  await assert.rejects(plugin.call('count', { text: 7 }), /text: expected string, got number/);
});
`;

/** The test of a new plugin whose tool `count` counts words. */
export const COUNTING_TEST = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPlugin } from 'longshore/testing';

test('counts words', async (t) => {
  const plugin = await openPlugin(import.meta.dirname);
  t.after(() => plugin.close());
  assert.deepEqual(await plugin.call('count', { text: 'one or a two' }), { words: 4 });
});

test('refuses what is no text', async (t) => {
  const plugin = await openPlugin(import.meta.dirname);
  t.after(() => plugin.close());
  await assert.rejects(plugin.call('count', { text: 7 }), /text: expected string, got number/);
});
`;

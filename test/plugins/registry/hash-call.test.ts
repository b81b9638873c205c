import { hashCall } from '../../../src/plugins/registry/hash-call.ts';

const tool = { id: 'shell:run', pluginVersion: '1' };
const first = hashCall(tool, { command: 'ls', options: { a: 1, b: [1, 2] } });

test('the order of keys does not count, at any depth', () => {
  expect(hashCall(tool, { options: { b: [1, 2], a: 1 }, command: 'ls' })).toBe(first);
});

test.each([
  ['the arguments', hashCall(tool, { command: 'ls', options: { a: 1, b: [2, 1] } })],
  ['the tool', hashCall({ ...tool, id: 'shell:rum' }, { command: 'ls', options: { a: 1, b: [1, 2] } })],
  ['the version of the plugin', hashCall({ ...tool, pluginVersion: '2' }, { command: 'ls', options: { a: 1, b: [1, 2] } })],
  ['the type of a value', hashCall(tool, { command: 'ls', options: { a: '1', b: [1, 2] } })],
])('%s change it', (_, other) => {
  expect(other).not.toBe(first);
});

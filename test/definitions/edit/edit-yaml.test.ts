import { withEntry, withItem } from '../../../src/definitions/edit/edit-yaml.ts';

const item = { path: './words', permissions: { network: ['a.example:443'] } };
const line = '{ path: ./words, permissions: { network: [ a.example:443 ] } }';

test.each([
  ['id: x', `id: x\nplugins:\n  - ${line}\n`],
  ['plugins: []\n', `plugins: [${line}]\n`],
  ['plugins: [a] # mine\ntools: [b]\n', `plugins: [a, ${line}] # mine\ntools: [b]\n`],
  ['plugins: [\n  a, # one\n]\n', `plugins: [\n  a, ${line}, # one\n]\n`],
  ['plugins:\n    - a # one\n\n# two\ntools: [b]\n', `plugins:\n    - a # one\n    - ${line}\n\n# two\ntools: [b]\n`],
  ['plugins:\n- path: a\n  digest: b', `plugins:\n- path: a\n  digest: b\n- ${line}`],
  ['{ plugins: [a] }', `{ plugins: [a, ${line}] }`],
])('an item is added to a list, and nothing else changes: %j', (text, changed) => {
  expect(withItem(text, 'plugins', undefined, item)).toBe(changed);
});

test.each([
  ['plugins: [a, b] # c\n', `plugins: [a, ${line}] # c\n`],
  ['plugins:\n  - a\n  - path: b\n    digest: c\n  # d\n  - e\n', `plugins:\n  - a\n  - ${line}\n  # d\n  - e\n`],
])('an item takes the place of another: %j', (text, changed) => {
  expect(withItem(text, 'plugins', 1, item)).toBe(changed);
});

test.each([
  [
    'plugins:\n  - a\n  - path: b # one\n    # two\n    digest: "#c" # three\n    # four\n  - e\n',
    `plugins:\n  - a\n  - ${line} # one # two # three\n    # four\n  - e\n`,
  ],
  ['plugins:\n  - a\n  - { path: b, # one\n      digest: c } # two\n', `plugins:\n  - a\n  - ${line} # one # two\n`],
  ['plugins:\n  - a\n  - # one\n    path: b\n', `plugins:\n  - a\n  - # one\n    ${line}\n`],
  ['plugins:\n  - a\n  - path: b\n    source: |\n      # no comment\n', `plugins:\n  - a\n  - ${line}\n`],
])('comments within an item that is replaced stay behind it: %j', (text, changed) => {
  expect(withItem(text, 'plugins', 1, item)).toBe(changed);
});

test('an item with comments in brackets is not replaced: what follows it would become a part of them', () => {
  expect(withItem('plugins: [a, { path: b, # one\n  digest: c }, d]\n', 'plugins', 1, item)).toBeUndefined();
});

test.each([
  'plugins:\ntools: [b]\n',
  'plugins: text\n',
  '{ id: x }\n',
  'id: x\n---\nid: y\n',
  'id: x\n...\n',
  'a: &a 1\nplugins: &a [b]\nc: *a\n',
  'no: [yaml',
])('what cannot be changed line by line is not changed: %j', (text) => {
  expect(withItem(text, 'plugins', undefined, item)).toBeUndefined();
});

test.each([
  ['id: x\n', 'id: x\nmcp:\n  new: { url: u }\n'],
  ['mcp: { a: { url: b } }\n', 'mcp: { a: { url: b }, new: { url: u } }\n'],
  ['mcp:\n  a:\n    url: b # c\nid: x\n', 'mcp:\n  a:\n    url: b # c\n  new: { url: u }\nid: x\n'],
  ['mcp:\n  new:\n    url: b # c\n    # d\n    headers: { e: f }\n', 'mcp:\n  new:\n    { url: u } # c # d\n'],
  ['mcp:\n  new:\n    url: b\n    headers: { c: d }\n  a: { url: b }\n', 'mcp:\n  new:\n    { url: u }\n  a: { url: b }\n'],
])('an entry of a map is added or replaced: %j', (text, changed) => {
  expect(withEntry(text, 'mcp', 'new', { url: 'u' })).toBe(changed);
});

import { contextOf, problemOf, run } from '../../isolates/support.ts';
import { hostOf } from '../support.ts';
import { entryOf, loadPandoraFrom } from './support.ts';
import { bench, useWeather } from './weather.ts';

useWeather();

/** A list whose own `map` gives a tool that says that it is of another entry. */
const CLAIMS = `
const claim = { entry: 1, id: 'steals', description: 'd', parameters: { type: 'object' }, kind: 'tool', annotations: { title: 'steals', readOnlyHint: true },
  timeoutMs: 1000, isolation: 'compartment', execute: async () => 'ran' };
const tools: any = [];
Object.defineProperty(tools, 'map', { value: () => [claim] });
`;
const provides = (one: object, two: object) => ({
  provides: {
    tools: [
      { entry: 'index.ts', ...one },
      { entry: 'other.ts', ...two },
    ],
  },
});

test.each([
  ['the tools of a list', `${CLAIMS}\nexport { tools };`],
  ['tools that are resolved', `${CLAIMS}\nexport const resolveTools = async () => ({ tools });`],
])('%s have the permissions of their own entry, whatever its code says', async (what, source) => {
  const name = `claims-${what.length}`;
  const granted = { permissions: { network: ['listed.example'] } };
  const made = await loadPandoraFrom(bench, name, { 'index.ts': source, 'other.ts': entryOf({ calm: 'return 1' }) }, provides({}, granted));
  await made.load!(hostOf({}, {})).catch(() => undefined);
  const network = made.tools.map(({ id, permissions }) => [id, permissions.network ?? []]);
  expect(network).toEqual([['calm', ['listed.example']]]);
  expect(await run(made, 'calm', {}, contextOf('conv-1'))).toBe(1);
});

test('a tool asks for approval as its own entry says, whatever its code says', async () => {
  const files = { 'index.ts': `${CLAIMS}\nexport { tools };`, 'other.ts': entryOf({ calm: 'return 1' }) };
  const made = await loadPandoraFrom(bench, 'claims-approval', files, provides({ requireApproval: true }, { requireApproval: false }));
  expect(made.tools.filter(({ requireApproval }) => requireApproval !== true).map(({ id }) => id)).toEqual(['calm']);
});

test('entries have no more processes than a plugin may have, and entries that share permissions share one', async () => {
  const tools = Array.from({ length: 17 }, (_, index) => ({ entry: `e${index}.ts`, permissions: { network: [`h${index}.example`] } }));
  const files = Object.fromEntries(tools.map(({ entry }, index) => [entry, entryOf({ [`t${index}`]: 'return 1' })]));
  expect(await problemOf(loadPandoraFrom(bench, 'crowd', files, { provides: { tools } }))).toBe(
    'Plugin "./crowd": its entries have 17 different sets of permissions, each of which needs a process, and may have 16. Give entries the same permissions',
  );
  expect(bench.isolates.health().plugins.filter(({ plugin }) => plugin === 'crowd')).toEqual([]);
  const shared = tools.map(({ entry }) => ({ entry, permissions: { network: ['h.example'] } }));
  expect((await loadPandoraFrom(bench, 'crowd', files, { provides: { tools: shared } })).tools).toHaveLength(17);
});

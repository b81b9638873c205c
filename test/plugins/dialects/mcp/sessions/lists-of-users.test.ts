import type { Json } from '../../../../../src/contracts/json.ts';
import { createListsOfUsers } from '../../../../../src/plugins/dialects/mcp/sign-in/lists-of-users.ts';
import { memoryStore } from '../memory-store.ts';

const ADA = { tenantId: 'north', userId: 'ada' };

/** Keeps as much as the store does. */
function shelf() {
  const kept = memoryStore();
  const sizes: number[] = [];
  const set = async (_shelf: unknown, key: string, value: Json) => {
    sizes.push(JSON.stringify(value).length);
    return kept.set(key, value);
  };
  return { sizes, store: { entry: async (_shelf: unknown, key: string) => kept.entry(key), set } as unknown as Parameters<typeof createListsOfUsers>[2] };
}

test.each([60, 3])('a list of %d large tools is kept for a user, as far as there is room', async (count) => {
  const { sizes, store } = shelf();
  const lists = createListsOfUsers('desk', () => 'https://desk.example/', store);
  const tools = Array.from({ length: count }, (_, at) => ({ name: `tool_${at}`, description: '\u0001'.repeat(1_000) }));
  await lists.put(ADA, { version: '1', tools, instructions: '\u0001'.repeat(100_000), problems: Array.from({ length: 100 }, () => 'y'.repeat(10_000)) });
  const listed = await lists.get(ADA);
  expect(sizes[0]).toBeLessThanOrEqual(262_144);
  if (count === 3) return expect(listed?.tools).toEqual(tools);
  expect(listed?.tools.length).toBeGreaterThan(20);
  expect(listed?.tools).toEqual(tools.slice(0, listed?.tools.length));
  expect(listed?.problems?.[0]).toBe(
    `The definitions of its tools are too long to be kept for a user; the last ${60 - (listed?.tools.length ?? 0)} tools are left out`,
  );
});

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { modelName } from '../../../src/common/model-name.ts';
import { createPrices } from '../../../src/models/prices/prices.ts';
import { readPrices } from '../../../src/models/prices/read-prices.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longshore-prices-'));
});
afterAll(() => rm(directory, { recursive: true }));

const MILLION = 1_000_000;
const usage = (inputTokens: number, outputTokens = 0, more = {}) => ({ inputTokens, outputTokens, ...more });

test('a cost is that of fresh input, of what the cache gave and took, and of the output', () => {
  const prices = createPrices([{ model: 'a/b', input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 }]);
  expect(prices.costOf('a/b', usage(MILLION, MILLION))).toBe(18);
  expect(prices.costOf('a/b', usage(1000, 100, { cacheReadTokens: 600, cacheWriteTokens: 300 }))).toBe(0.003105);
  expect(prices.costOf('a/b', usage(0))).toBe(0);
});

test('without a price for cached tokens, they cost the same as other input tokens', () => {
  expect(createPrices([{ model: 'a/b', input: 2, output: 1 }]).costOf('a/b', usage(MILLION, 0, { cacheReadTokens: MILLION }))).toBe(2);
});

test('above a size of the input, the other rates are for the whole call', () => {
  const prices = createPrices([{ model: 'a/b', input: 1, output: 10, over: { inputTokens: 200_000, input: 2, output: 20 } }]);
  expect(prices.costOf('a/b', usage(200_000, 1000))).toBe(0.21);
  expect(prices.costOf('a/b', usage(200_001, 1000))).toBe(0.420002);
});

test('the first pattern that fits counts; a model that fits none has no cost, which is not nothing', () => {
  const prices = createPrices([
    { model: 'a/small*', input: 1, output: 1 },
    { model: 'a/*', input: 2, output: 2 },
  ]);
  expect(prices.costOf('a/small-1', usage(MILLION))).toBe(1);
  expect(prices.costOf('a/large', usage(MILLION))).toBe(2);
  expect(prices.costOf('b/large', usage(MILLION))).toBeNull();
  expect([prices.has('a/large'), prices.has('b/large')]).toEqual([true, false]);
});

test('a dated version whose price is not that of its model has its own', () => {
  expect(createPrices().costOf('openai/gpt-4o-2024-08-06', usage(MILLION, MILLION))).toBe(12.5);
  expect(createPrices().costOf('openai/gpt-4o-2024-05-13', usage(MILLION, MILLION))).toBe(20);
});

test('scripted models are free, unless the table names them, and are named without their directory', () => {
  const name = modelName({ model: 'scripted//srv/agents/demo.yaml' });
  expect(name).toBe('scripted/demo.yaml');
  expect(createPrices().costOf(name, usage(MILLION))).toBe(0);
  expect(createPrices([{ model: 'scripted/demo*', input: 1, output: 1 }]).costOf(name, usage(MILLION))).toBe(1);
  expect(modelName({ model: 'openai/gpt-5' })).toBe('openai/gpt-5');
});

test('the shipped table knows models and their dated versions, and takes no later model of a family for another', () => {
  const prices = createPrices();
  for (const model of ['anthropic/claude-sonnet-4-5', 'anthropic/claude-sonnet-4-5-20250929', 'openai/gpt-5-2025-08-07', 'google/gemini-2.5-flash'])
    expect([model, prices.has(model)]).toEqual([model, true]);
  for (const model of ['anthropic/claude-sonnet-4-7', 'openai/gpt-5-pro', 'openai/gpt-6', 'openai-compatible/qwen3', 'google/gemini-9'])
    expect([model, prices.has(model)]).toEqual([model, false]);
  expect(prices.costOf('openai/gpt-5-mini', usage(MILLION, MILLION))).toBe(2.25);
});

test("an operator's file takes the place of the table, in YAML or JSON", async () => {
  const yaml = join(directory, 'prices.yaml');
  await writeFile(yaml, 'prices:\n  - { model: mine/*, input: 1, output: 2, over: { inputTokens: 10, input: 3, output: 4 } }\n');
  const prices = await readPrices(yaml);
  expect([prices.costOf('mine/x', usage(MILLION)), prices.has('openai/gpt-5'), prices.has('scripted/a.yaml')]).toEqual([3, false, true]);
  const json = join(directory, 'prices.json');
  await writeFile(json, JSON.stringify({ prices: [{ model: 'mine/*', input: 1, output: 2 }] }));
  expect((await readPrices(json)).costOf('mine/x', usage(0, MILLION))).toBe(2);
  expect((await readPrices(undefined)).has('openai/gpt-5')).toBe(true);
});

test.each([
  ['prices:\n  - model: a/b\n    input: -1\n    output: 2\n', 'prices.0.input (line 3): Too small: expected number to be >=0'],
  [
    'prices:\n  - { model: b, input: 1, output: 2 }\n',
    'prices.0.model (line 2): write provider/model, such as anthropic/claude-sonnet-4-5, with * for any text',
  ],
  ['prices:\n  - { model: a/b, input: 1, output: 2, cached: 1 }\n', 'prices.0 (line 2): Unrecognized key: "cached"'],
  ['prices: []\n', 'prices (line 1): Too small: expected array to have >=1 items'],
  ['prices: [\n', 'it is not YAML ('],
])('a file that cannot be used stops the start, and says where and why: %j', async (text, problem) => {
  const file = join(directory, 'broken.yaml');
  await writeFile(file, text);
  await expect(readPrices(file)).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringContaining(`LONGSHORE_PRICES: ${file}: ${problem}`) as string,
  });
});

test('a file that is missing is named', async () => {
  await expect(readPrices(join(directory, 'none.yaml'))).rejects.toMatchObject({ message: expect.stringContaining('LONGSHORE_PRICES: ') as string });
});

import type { Price } from './price.ts';

/**
 * List prices that the providers published up to the end of 2025. A pattern fits one model and its dated versions, never a family: a later model of a family
 * has another price.
 */
export const SHIPPED_PRICES: readonly Price[] = [
  ...priced('anthropic', 'claude-opus-4-5', { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 }),
  ...priced('anthropic', 'claude-opus-4-1', { input: 15, output: 75, cacheRead: 1.5, cacheWrite: 18.75 }),
  ...priced('anthropic', 'claude-opus-4', { input: 15, output: 75, cacheRead: 1.5, cacheWrite: 18.75 }),
  ...priced('anthropic', 'claude-sonnet-4-5', sonnet()),
  ...priced('anthropic', 'claude-sonnet-4', sonnet()),
  ...priced('anthropic', 'claude-3-7-sonnet', { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 }),
  ...priced('anthropic', 'claude-haiku-4-5', { input: 1, output: 5, cacheRead: 0.1, cacheWrite: 1.25 }),
  ...priced('anthropic', 'claude-3-5-haiku', { input: 0.8, output: 4, cacheRead: 0.08, cacheWrite: 1 }),
  ...priced('anthropic', 'claude-3-haiku', { input: 0.25, output: 1.25, cacheRead: 0.03, cacheWrite: 0.3 }),
  ...priced('openai', 'gpt-5.1', { input: 1.25, output: 10, cacheRead: 0.125 }),
  ...priced('openai', 'gpt-5', { input: 1.25, output: 10, cacheRead: 0.125 }),
  ...priced('openai', 'gpt-5-mini', { input: 0.25, output: 2, cacheRead: 0.025 }),
  ...priced('openai', 'gpt-5-nano', { input: 0.05, output: 0.4, cacheRead: 0.005 }),
  ...priced('openai', 'gpt-4.1', { input: 2, output: 8, cacheRead: 0.5 }),
  ...priced('openai', 'gpt-4.1-mini', { input: 0.4, output: 1.6, cacheRead: 0.1 }),
  ...priced('openai', 'gpt-4.1-nano', { input: 0.1, output: 0.4, cacheRead: 0.025 }),
  // The first version has kept its price, and knows no cache.
  { model: 'openai/gpt-4o-2024-05-13', input: 5, output: 15 },
  ...priced('openai', 'gpt-4o', { input: 2.5, output: 10, cacheRead: 1.25 }),
  ...priced('openai', 'gpt-4o-mini', { input: 0.15, output: 0.6, cacheRead: 0.075 }),
  ...priced('openai', 'o3', { input: 2, output: 8, cacheRead: 0.5 }),
  ...priced('openai', 'o4-mini', { input: 1.1, output: 4.4, cacheRead: 0.275 }),
  ...priced('google', 'gemini-2.5-pro', {
    input: 1.25,
    output: 10,
    cacheRead: 0.125,
    over: { inputTokens: 200_000, input: 2.5, output: 15, cacheRead: 0.25 },
  }),
  ...priced('google', 'gemini-2.5-flash', { input: 0.3, output: 2.5, cacheRead: 0.03 }),
  ...priced('google', 'gemini-2.5-flash-lite', { input: 0.1, output: 0.4, cacheRead: 0.01 }),
];

/** A model by its name, its newest version and its versions of a date (`-20250929`, `-2025-08-07`). */
function priced(provider: string, name: string, rates: Omit<Price, 'model'>): Price[] {
  return ['', '-0', '-latest', '-20*'].map((version) => ({ model: `${provider}/${name}${version}`, ...rates }));
}

function sonnet(): Omit<Price, 'model'> {
  return {
    input: 3,
    output: 15,
    cacheRead: 0.3,
    cacheWrite: 3.75,
    over: { inputTokens: 200_000, input: 6, output: 22.5, cacheRead: 0.6, cacheWrite: 7.5 },
  };
}

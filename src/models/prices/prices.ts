import { matchesPattern } from '../../common/match-pattern.ts';
import { roundUsd, type Usage } from '../../contracts/usage.ts';
import type { Price, Rates } from './price.ts';
import { SHIPPED_PRICES } from './shipped-prices.ts';

/** What calls of models cost. */
export interface Prices {
  has(model: string): boolean;
  /** US dollars; null when the price of the model is not known. */
  costOf(model: string, usage: Usage): number | null;
}

const MILLION = 1_000_000;
/** Scripted models are free, unless a table says otherwise. */
const FREE: Price = { model: 'scripted/*', input: 0, output: 0 };

/** The first price whose pattern fits counts. */
export function createPrices(table: readonly Price[] = SHIPPED_PRICES): Prices {
  const find = (model: string) => [...table, FREE].find((price) => matchesPattern(price.model, model));
  return {
    has: (model) => find(model) !== undefined,
    costOf(model, usage) {
      const price = find(model);
      if (!price) return null;
      const { over } = price;
      return dollars(over && usage.inputTokens > over.inputTokens ? over : price, usage);
    },
  };
}

function dollars({ input, output, cacheRead = input, cacheWrite = input }: Rates, usage: Usage): number {
  const { inputTokens, outputTokens, cacheReadTokens = 0, cacheWriteTokens = 0 } = usage;
  const fresh = Math.max(0, inputTokens - cacheReadTokens - cacheWriteTokens);
  return roundUsd((fresh * input + cacheReadTokens * cacheRead + cacheWriteTokens * cacheWrite + outputTokens * output) / MILLION);
}

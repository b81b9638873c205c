import { z } from 'zod';
import { withoutUndefined } from '../../common/without-undefined.ts';
import { failure } from '../../contracts/errors.ts';
import { readYamlFile } from '../../platform/read-yaml-file.ts';
import type { Price } from './price.ts';
import { createPrices, type Prices } from './prices.ts';

const rate = z.number().min(0).max(1_000_000);
const rates = { input: rate, output: rate, cacheRead: rate.optional(), cacheWrite: rate.optional() };
const price = z
  .strictObject({
    model: z.string().regex(/^[^/\s]+\/.+$/, 'write provider/model, such as anthropic/claude-sonnet-4-5, with * for any text'),
    ...rates,
    over: z
      .strictObject({ inputTokens: z.int().min(1), ...rates })
      .transform(withoutUndefined)
      .optional(),
  })
  .transform(withoutUndefined) satisfies z.ZodType<Price>;
const table = z.strictObject({ prices: z.array(price).min(1) });

/**
 * The prices of a file of an operator; without one, those of the package.
 * @throws CONFIG_INVALID naming file, line, path and problem
 */
export async function readPrices(file: string | undefined): Promise<Prices> {
  if (file === undefined) return createPrices();
  const { prices } = await readYamlFile(file, table, (problem, cause) =>
    failure(
      'CONFIG_INVALID',
      { name: 'LONGSHORE_PRICES', problem: `${file}: ${problem}`, fix: 'Correct the file; docs/guides/usage.md shows its form' },
      cause,
    ),
  );
  return createPrices(prices);
}

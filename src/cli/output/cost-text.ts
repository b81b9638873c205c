import type { UsageTotals } from '../../contracts/usage.ts';

/** What calls cost, for people. A cost that is not known never looks like nothing. */
export function costText({ calls, knownCostUsd, unpricedCalls }: Pick<UsageTotals, 'calls' | 'knownCostUsd' | 'unpricedCalls'>): string {
  if (unpricedCalls === 0) return dollars(knownCostUsd);
  const unknown = unpricedCalls === calls ? 'not known' : `not known for ${unpricedCalls} of ${calls} calls`;
  return unpricedCalls === calls ? unknown : `${dollars(knownCostUsd)}, ${unknown}`;
}

function dollars(amount: number): string {
  if (amount === 0) return '$0';
  if (amount < 0.0001) return '<$0.0001';
  return `$${amount.toFixed(amount < 1 ? 4 : 2)}`;
}

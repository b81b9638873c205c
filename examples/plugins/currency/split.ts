/** Sums that come out even; needs nothing of the outside. */
import type { Tool } from '@pandorakit/sdk/tools';

const split: Tool = {
  id: 'split',
  name: 'Split an amount',
  description: 'Splits an amount of money into shares that are as equal as cents allow and add up to it.',
  parameters: {
    type: 'object',
    properties: {
      amount: { type: 'number', minimum: 0, maximum: 1_000_000_000, description: 'With at most two decimals.' },
      shares: { type: 'integer', minimum: 1, maximum: 1_000 },
    },
    required: ['amount', 'shares'],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: true, idempotentHint: true },
  async execute({ amount, shares }: { amount: number; shares: number }) {
    const cents = Math.round(amount * 100);
    const [each, left] = [Math.floor(cents / shares), cents % shares];
    return { shares: Array.from({ length: shares }, (_, index) => (each + Number(index < left)) / 100) };
  },
};

export const tools = [split];

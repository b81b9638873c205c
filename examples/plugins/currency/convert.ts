/** Conversion by the rates of a service. Without one there is no such tool, and an alert says why. */
import type { PluginConfig, ResolveToolsContext, ResolveToolsResult, Tool } from '@pandorakit/sdk/tools';

const BANKS = 'https://api.frankfurter.dev/v1';

interface Request {
  amount: number;
  from: string;
  to: string;
}

interface Rates {
  date: string;
  rates: Record<string, number>;
}

export const tools: Tool[] = [];

export async function resolveTools({ pluginConfig, env }: ResolveToolsContext): Promise<ResolveToolsResult> {
  const service = pluginConfig['source'] === 'own' ? env['RATES_URL'] : BANKS;
  if (service === undefined) {
    return { tools: [], alerts: [{ level: 'warning', message: 'Nothing can be converted: rates are to come from RATES_URL, which is not set.' }] };
  }
  return { tools: [converter(service, decimalsOf(pluginConfig))], alerts: [{ level: 'info', message: `Rates come from ${new URL(service).host}.` }] };
}

function converter(service: string, decimals: number): Tool {
  const currency = { type: 'string', pattern: '^[A-Z]{3}$', description: 'Three letters, as EUR.' };
  return {
    id: 'convert',
    name: 'Convert money',
    description: 'Converts an amount of money into another currency, by the newest rate.',
    parameters: {
      type: 'object',
      properties: { amount: { type: 'number', minimum: 0 }, from: currency, to: currency },
      required: ['amount', 'from', 'to'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true, idempotentHint: true },
    timeout: 15_000,
    async execute({ amount, from, to }: Request, { logger }) {
      const { date, rates } = await ratesOf(service, from, to);
      const rate = from === to ? 1 : rates[to];
      if (rate === undefined) throw new Error(`there is no rate from ${from} to ${to}`);
      logger.log(`1 ${from} is ${rate} ${to}`);
      return { amount: Number((amount * rate).toFixed(decimals)), currency: to, rate, date };
    },
  };
}

async function ratesOf(service: string, from: string, to: string): Promise<Rates> {
  const response = await fetch(`${service}/latest?base=${from}&symbols=${to}`);
  if (response.status === 404) throw new Error(`${from} or ${to} is no currency that the service of rates knows`);
  if (!response.ok) throw new Error(`the service of rates answered with ${response.status}`);
  return (await response.json()) as Rates;
}

function decimalsOf({ decimals }: PluginConfig): number {
  return typeof decimals === 'number' ? Math.min(Math.max(Math.round(decimals), 0), 10) : 2;
}

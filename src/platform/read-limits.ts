import { LIMIT_NAMES, type LimitName, type Limits } from '../contracts/limits/limits.ts';

/** Limits as a setting has them: `requestsPerMinute=600,streams=100`. Undefined for a text that has something else. */
export function readLimits(text: string): Limits | undefined {
  const limits: Limits = {};
  for (const part of text.split(',')) {
    const [name = '', value = '', ...more] = part.split('=').map((word) => word.trim());
    if (!isLimitName(name) || more.length > 0 || !/^\d{1,15}(\.\d{1,6})?$/.test(value)) return undefined;
    limits[name] = Number(value);
  }
  return limits;
}

function isLimitName(name: string): name is LimitName {
  return (LIMIT_NAMES as readonly string[]).includes(name);
}

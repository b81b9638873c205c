/** How much memory or disk: of a machine, all of it or less. */
export type MemoryShare = { bytes: number } | { part: number } | 'off';

const UNITS: Record<string, number> = { m: 2 ** 20, g: 2 ** 30, t: 2 ** 40 };

/** Reads `24g`, `512m`, `1.5t`, `80%` or `off`; undefined for anything else. */
export function readMemoryShare(text: string): MemoryShare | undefined {
  if (text === 'off') return 'off';
  const [, amount = '', unit = ''] = /^(\d{1,9}(?:\.\d{1,3})?)([mgt%])$/i.exec(text.trim()) ?? [];
  const number = Number(amount);
  if (unit === '' || number === 0 || (unit === '%' && number > 100)) return undefined;
  return unit === '%' ? { part: number / 100 } : { bytes: Math.floor(number * (UNITS[unit.toLowerCase()] ?? 0)) };
}

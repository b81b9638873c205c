import { whatWasMissed } from '../bundle/not-in-a-compartment.ts';

/** The error of the language where a power is missing, the name of the power, and the permission that grants it. */
const MISSING: [said: RegExp, power: string, permission: string][] = [
  [/^secure mode .*%SharedDate%|^Intl is not defined$/, 'the clock', 'time'],
  [/^secure mode .*%SharedMath%/, 'chance', 'random'],
  [/\bfetch is not (defined|a function)$/, 'the network', 'network'],
  [/\breadFile is not (defined|a function)$/, 'reading files', 'fs'],
];

/** Returns the message of an error, with the name of a permission that would have prevented it, or with what to use in a compartment instead. */
export function explain(message: string, where: 'compartment' | 'sandbox'): string {
  const [, power, permission] = MISSING.find(([said]) => said.test(message)) ?? [];
  if (permission !== undefined) return `${message}; ${power} is available only while a tool with permissions.${permission} runs`;
  return where === 'compartment' ? message + whatWasMissed(message, '') : message;
}

/** What the language says where a power is missing, with its name and the permission that gives it. */
const MISSING: [said: RegExp, power: string, permission: string][] = [
  [/^secure mode .*%SharedDate%|^Intl is not defined$/, 'the clock', 'time'],
  [/^secure mode .*%SharedMath%/, 'chance', 'random'],
  [/\bfetch is not (defined|a function)$/, 'the network', 'network'],
  [/\breadFile is not (defined|a function)$/, 'reading files', 'fs'],
];

/** The message of an error; where a permission would have helped, it says so. */
export function explain(message: string): string {
  const [, power, permission] = MISSING.find(([said]) => said.test(message)) ?? [];
  return permission === undefined ? message : `${message}; ${power} is there only while a tool with permissions.${permission} runs`;
}

const LONGEST = 200;
const MOST_ALTERNATIVES = 20;
const MOST_REPEATS = 256;
const TOKEN = /\\(?:u\{[0-9a-fA-F]+\}|[pP]\{[^}]*\}|.)|\[(?:\\.|[^\]\\])*\]|\(\?:|\(|\)|[*+?]|\{\d+(?:,\d*)?\}|[^\\[\](){}]/suy;

/**
 * The exponent of the time that a backtracking engine can need for a regular expression, by the length of the text; infinite where that is not plain to see.
 * A quantifier on a group, a choice in more than one group, and anything that looks around or back are not plain.
 */
export function degreeOf(pattern: string): number {
  if (pattern.length > LONGEST || /\\[1-9k]|\((?!\?:)\?/.test(pattern)) return Infinity;
  const tokens = tokensOf(pattern);
  if (!tokens || tokens.some((token, index) => isOpaque(token, tokens[index - 1]))) return Infinity;
  const count = (isCounted: (token: string, index: number) => boolean) => tokens.filter(isCounted).length;
  const alternatives = count((token) => token === '|');
  if (alternatives > MOST_ALTERNATIVES || (alternatives > 0 && count((token) => token.startsWith('(')) > 1)) return Infinity;
  // After a quantifier, `?` makes it lazy.
  const quantifiers = count((token, index) => isQuantifier(token) && !/^\{\d+\}$/.test(token) && !isQuantifier(tokens[index - 1] ?? ''));
  return quantifiers + (pattern.startsWith('^') && alternatives === 0 ? 0 : 1);
}

function tokensOf(pattern: string): string[] | undefined {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < pattern.length) {
    const [token] = TOKEN.exec(pattern) ?? [];
    if (token === undefined) return undefined;
    tokens.push(token);
  }
  return tokens;
}

function isQuantifier(token: string): boolean {
  return token === '*' || token === '+' || token === '?' || /^\{\d/.test(token);
}

/** A quantifier whose cost is not its own alone. */
function isOpaque(token: string, before: string | undefined): boolean {
  if (!isQuantifier(token)) return false;
  return before === undefined || before === ')' || Number(/^\{(\d+)/.exec(token)?.[1] ?? 0) > MOST_REPEATS;
}

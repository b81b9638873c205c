const LONGEST = 200;
const MOST_ALTERNATIVES = 20;
const MOST_REPEATS = 256;
const TOKEN = /\\(?:u\{[0-9a-fA-F]+\}|[pP]\{[^}]*\}|.)|\[(?:\\.|[^\]\\])*\]|\(\?:|\(|\)|[*+?]|\{\d+(?:,\d*)?\}|[^\\[\](){}]/suy;

/**
 * A bound for the exponent by which the time of a backtracking engine grows with the length of the text; infinite if no bound is easy to see. That is so for a
 * quantifier on a group, alternatives together with more than one group, look-around and back-references.
 */
export function degreeOf(pattern: string): number {
  if (pattern.length > LONGEST || /\\[1-9k]|\((?!\?:)\?/.test(pattern)) return Infinity;
  const tokens = tokensOf(pattern);
  if (!tokens || tokens.some((token, index) => isOpaque(token, tokens[index - 1]))) return Infinity;
  const count = (isCounted: (token: string, index: number) => boolean) => tokens.filter(isCounted).length;
  const alternatives = count((token) => token === '|');
  if (alternatives > MOST_ALTERNATIVES || (alternatives > 0 && count((token) => token.startsWith('(')) > 1)) return Infinity;
  // A `?` after a quantifier makes it lazy and is not a quantifier itself.
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

/** A quantifier whose cost cannot be bounded: it is on a group, or repeats too often. */
function isOpaque(token: string, before: string | undefined): boolean {
  if (!isQuantifier(token)) return false;
  return before === undefined || before === ')' || Number(/^\{(\d+)/.exec(token)?.[1] ?? 0) > MOST_REPEATS;
}

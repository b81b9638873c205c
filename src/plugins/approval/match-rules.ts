import type { ApprovalRule, RuleDecision } from '../../contracts/agent.ts';
import type { Json, JsonObject } from '../../contracts/json.ts';
import { matchesPattern } from '../../common/match-pattern.ts';
import type { RegisteredTool } from '../registry/registry.ts';
import { couldMatch } from './shell/could-match.ts';
import { shellPartsOf, type ShellParts } from './shell/shell-parts.ts';

export type MatchedTool = Pick<RegisteredTool, 'id' | 'pluginId' | 'annotations'>;

/** Indexes of the rules that together match a call; `because` is set if the call's own text does not show why. */
export interface ApprovalMatch {
  rules: number[];
  because?: string;
}

/** Arguments that are commands of a shell, by tool. */
const COMMANDS: Record<string, (input: JsonObject) => string[]> = {
  'shell:run': () => ['command'],
  'code:run': ({ language }) => (language === 'bash' ? ['code'] : []),
};

/** Matches rules against one call. Each shell command of it is parsed once, and only when a rule needs its parts. */
export function createMatcher(tool: MatchedTool, input: JsonObject) {
  const commands = Object.hasOwn(COMMANDS, tool.id) ? (COMMANDS[tool.id]?.(input) ?? []) : [];
  const known = new Map<string, ShellParts>();
  const partsOf = (name: string) => {
    const command = input[name];
    const parts = known.get(name) ?? shellPartsOf(typeof command === 'string' ? command : '');
    known.set(name, parts);
    return parts;
  };
  const isCommand = (name: string, expected: string | number | boolean): expected is string =>
    commands.includes(name) && typeof expected === 'string' && typeof input[name] === 'string';
  return { strict, allowing };

  /** The first rule of this decision that matches, or could match as far as is known. */
  function strict(rules: ApprovalRule[], decide: 'deny' | 'ask' | 'auto'): ApprovalMatch | undefined {
    for (const [index, rule] of rules.entries()) {
      if (rule.decide !== decide || !names(rule, tool)) continue;
      const reasons = Object.entries(rule.when ?? {}).map(([name, expected]) => fits(name, expected));
      if (!reasons.includes(undefined)) return { rules: [index], ...becauseOf(reasons) };
    }
    return undefined;
  }

  /** The reason of a match: empty if the argument matches as it is written, undefined if it does not match. */
  function fits(name: string, expected: string | number | boolean): string | undefined {
    if (!Object.hasOwn(input, name)) return undefined;
    if (matchesValue(expected, input[name] ?? null)) return '';
    if (!isCommand(name, expected)) return undefined;
    const { parts, unknown } = partsOf(name);
    if (parts.some(({ texts }) => texts.some((text) => couldMatch(expected, text)))) return 'a part of the command matches, or could match when it runs';
    return unknown[0];
  }

  /** The rules that allow the whole call, or decide about it in other ways, as given: one that matches all of it, or several that together match all parts of its command. */
  function allowing(rules: ApprovalRule[], decides: RuleDecision[] = ['allow']): ApprovalMatch | undefined {
    const candidates = [...rules.entries()].filter(([, rule]) => decides.includes(rule.decide) && names(rule, tool));
    const whole = candidates.find(([, { when = {} }]) => Object.entries(when).every(([name, expected]) => allowsWhole(name, expected)));
    if (whole) return { rules: [whole[0]] };
    const used = commands.map((name) => allowingParts(name, candidates));
    const rulesUsed = used.find((each) => each.length > 0);
    return rulesUsed && { rules: rulesUsed };
  }

  function allowsWhole(name: string, expected: string | number | boolean): boolean {
    if (!Object.hasOwn(input, name)) return false;
    // A pattern with `*` could match more than the author of the rule meant: `git *` must not allow `git log; rm x`.
    return isCommand(name, expected) ? expected === input[name] && !expected.includes('*') : matchesValue(expected, input[name] ?? null);
  }

  function allowingParts(name: string, candidates: [number, ApprovalRule][]): number[] {
    if (typeof input[name] !== 'string') return [];
    const usable = candidates.filter(
      ([, { when = {} }]) =>
        typeof when[name] === 'string' && Object.entries(when).every(([other, expected]) => other === name || allowsWhole(other, expected)),
    );
    if (usable.length === 0) return [];
    const { parts, unknown, runsTexts } = partsOf(name);
    const written = parts.flatMap((part) => (part.written === undefined ? [] : [part.written]));
    const used = written.map((text) => usable.find(([, { when = {} }]) => matchesPattern(String(when[name]), text))?.[0]);
    return unknown.length > 0 || runsTexts || used.includes(undefined)
      ? []
      : [...new Set(used.filter((index) => index !== undefined))].toSorted((a, b) => a - b);
  }
}

function becauseOf(reasons: (string | undefined)[]): { because?: string } {
  const because = reasons.find((reason) => reason !== undefined && reason !== '');
  return because === undefined ? {} : { because };
}

function names({ tool, plugin, annotation }: ApprovalRule, judged: MatchedTool): boolean {
  if (tool !== undefined && !matchesPattern(tool, judged.id)) return false;
  if (plugin !== undefined && !matchesPattern(plugin, judged.pluginId)) return false;
  return annotation === undefined || judged.annotations[annotation] === true;
}

function matchesValue(expected: string | number | boolean, value: Json): boolean {
  if (typeof expected !== 'string') return expected === value;
  return matchesPattern(expected, typeof value === 'string' ? value : JSON.stringify(value));
}

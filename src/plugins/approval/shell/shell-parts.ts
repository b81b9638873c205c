import {
  forEachChild,
  type Assignment,
  type Command,
  type For,
  type ParameterExpansionPart,
  type ParsedScript,
  type Redirection,
  type Select,
  type SyntaxNode,
} from 'unbash';
import { variablesSetBy } from './builtins.ts';
import { Evaluation } from './evaluation.ts';
import { behindVariable } from './behind-options.ts';
import { searchBehind } from './commands-behind.ts';
import { parseCommand } from './parse-command.ts';
import type { Search, ShellPart } from './search.ts';
import { UNKNOWN, wordOf, type ShellWord } from './word-text.ts';

export interface ShellParts {
  parts: ShellPart[];
  /** The reasons why not everything that it runs is known. */
  unknown: string[];
  /** Arithmetic in it may run what a text contains: the parts are not all that rules have to allow. */
  runsTexts: boolean;
}

const MOST_NESTED = 5;
/** Bound for the sum of all searched texts. A text that is searched twice counts twice. */
const MOST_CHARACTERS = 200_000;
/** Marks a substitution in quoted text, which arithmetic or a prompt may run later. */
const HIDDEN = /\$\(|`/;
const WORDS = /[\w)]\s+[A-Za-z_/]/;
const HARMLESS = new Set(['/dev/null', '/dev/stdout', '/dev/stderr', '/dev/tty']);

/** Splits a shell command into parts: the commands of lists, pipelines, loops, functions, substitutions and here-documents, and the commands that these run. */
export function shellPartsOf(text: string): ShellParts {
  const search = new PartSearch(0, MOST_CHARACTERS);
  search.text(text);
  const { evaluates, isPutTogether, runsTexts } = search.evaluation;
  const unknown = evaluates && isPutTogether ? [...search.unknown, 'what its arithmetic runs is only known when it runs'] : search.unknown;
  return { parts: search.parts, unknown, runsTexts };
}

class PartSearch implements Search {
  readonly parts: ShellPart[] = [];
  readonly unknown: string[] = [];
  readonly evaluation = new Evaluation();
  tailsAreSearched = false;
  private depth: number;
  private charactersLeft: number;

  constructor(depth: number, charactersLeft: number) {
    this.depth = depth;
    this.charactersLeft = charactersLeft;
  }

  get isExhausted(): boolean {
    return this.charactersLeft < 0;
  }

  text(text: string, isSoft = false): void {
    this.charactersLeft -= text.length;
    const isBounded = this.depth < MOST_NESTED && !this.isExhausted;
    const script = isBounded && !text.includes(UNKNOWN) ? parseCommand(text) : undefined;
    if (!script) {
      if (isSoft && isBounded) return;
      this.unknown.push(text.includes(UNKNOWN) ? 'a part of it is only known when it runs' : 'it cannot be read as a shell command');
    } else if (isSoft) this.softly((soft) => (soft as PartSearch).script(script));
    else this.script(script);
  }

  softly(work: (soft: Search) => void): void {
    const soft = new PartSearch(this.depth, this.charactersLeft);
    work(soft);
    this.charactersLeft = soft.charactersLeft;
    this.parts.push(...soft.parts.map(({ texts }) => ({ texts, written: undefined })));
  }

  words(words: ShellWord[], assignments: string[] = [], redirects: readonly Redirection[] = []): void {
    const [name, ...rest] = words;
    if (!name) return;
    this.charactersLeft -= words.reduce((sum, { text }) => sum + text.length + 1, 0);
    if (this.isExhausted) return void this.unknown.push('it is too large to be read');
    if (name.text.includes(UNKNOWN)) this.unknown.push('the name of a command in it is only known when it runs');
    const base = name.text.slice(name.text.lastIndexOf('/') + 1);
    const given = rest.map(({ text }) => text);
    const written = [...assignments, name.text, ...given].join(' ');
    this.evaluation.command(base, given);
    for (const variable of variablesSetBy(base, given)) {
      this.evaluation.setByShell(variable, UNKNOWN);
      this.setByShell(variable, UNKNOWN);
    }
    const { isTransparent } = searchBehind(this, base, rest, redirects);
    const isSaidElsewhere = isTransparent && assignments.length === 0 && name.text === base;
    this.parts.push({
      texts: withHomes([[name.text, ...given].join(' '), [base, ...given].join(' '), written]),
      written: isSaidElsewhere ? undefined : written,
    });
  }

  variable(assignment: string): void {
    behindVariable(this, assignment);
  }

  private script(script: ParsedScript): void {
    const { tailsAreSearched } = this;
    this.tailsAreSearched = false;
    this.depth += 1;
    const visit = (node: SyntaxNode): void => {
      this.evaluation.enter(node);
      this.node(node);
      forEachChild(node, visit);
      this.evaluation.leave(node);
    };
    forEachChild(script, visit);
    this.depth -= 1;
    this.tailsAreSearched = tailsAreSearched;
  }

  private node(node: SyntaxNode): void {
    if (node.type === 'Command') this.command(node);
    else if (node.type === 'Redirect') this.redirection(node);
    else if (node.type === 'For' || node.type === 'Select') this.loop(node);
    else if (node.type === 'ArithmeticCommand') this.arithmetic(node.body);
    else if (node.type === 'ArithmeticExpansion') this.arithmetic(node.text.slice(3, -2));
    else if (node.type === 'ParameterExpansion') this.expansion(node);
    else this.value(node);
  }

  private value(node: SyntaxNode): void {
    if (node.type === 'Word' && node.parts) this.joined(wordOf(node).text, node.parts.length);
    else if ('value' in node && typeof node.value === 'string' && HIDDEN.test(node.value)) this.hidden(node.value);
  }

  private hidden(text: string): void {
    this.evaluation.hidden();
    this.text(text, true);
  }

  /** `${X@P}` runs the substitutions in the value of X. */
  private expansion({ parameter, operation }: ParameterExpansionPart): void {
    if (operation?.type === 'Default' && operation.operator.endsWith('=')) this.setByShell(parameter, wordOf(operation.operand).text);
    if (operation?.type === 'Transform' && operation.operand?.value.includes('P'))
      this.unknown.push('what "@P" makes of a variable is only known when it runs');
  }

  private loop({ name, wordlist = [] }: For | Select): void {
    for (const word of wordlist) this.setByShell(wordOf(name).text, wordOf(word).text);
  }

  /** `for PATH in .`, `${IFS:=x}` and `printf -v PATH .` set what the shell and other programs go by, as an assignment does. */
  private setByShell(name: string, value: string): void {
    if (!/^[A-Z][A-Z0-9_]*$/.test(name)) return;
    const text = `${name}=${value}`;
    this.variable(text);
    this.parts.push({ texts: withHomes([text]), written: text });
  }

  /** A substitution that only the pieces of a word together make: `PS4='$''(rm x)'`. */
  private joined(text: string, pieces: number): void {
    if (pieces > 1 && HIDDEN.test(text) && !text.includes(UNKNOWN)) this.hidden(text);
  }

  /** Text in `((…))` that is not arithmetic may be a subshell in a subshell. */
  private arithmetic(text: string): void {
    this.text(text, true);
    if (WORDS.test(text)) this.unknown.push('it cannot be read as a shell command');
  }

  private command({ prefix, name, args, redirects }: Command): void {
    const assignments = prefix.flatMap((each) => (each.type === 'Assignment' ? [assignmentOf(each)] : []));
    for (const assignment of assignments) this.variable(assignment);
    if (!name) this.parts.push(...assignments.map((text) => ({ texts: withHomes([text]), written: text })));
    else {
      const words = args.map((each): ShellWord => (each.type === 'Assignment' ? { text: assignmentOf(each), splits: false } : wordOf(each)));
      this.words([wordOf(name), ...words], assignments, redirects);
    }
  }

  /** A file that is written is a separate part. */
  private redirection({ operator, target: word }: Extract<Redirection, { type: 'Redirect' }>): void {
    if (operator === '<' || operator === '<&') return;
    const target = word ? wordOf(word).text : UNKNOWN;
    if (HARMLESS.has(target) || (operator === '>&' && /^(\d+-?|-)$/.test(target))) return;
    this.parts.push({ texts: withHomes([`> ${target}`, `>${target}`]), written: `> ${target}` });
  }
}

function assignmentOf({ name, value, index, append }: Assignment): string {
  const given = value.type === 'Word' ? wordOf(value).text : UNKNOWN;
  return `${name}${index ? `[${UNKNOWN}]` : ''}${append ? '+=' : '='}${given}`;
}

/** The shell replaces `~` by a home directory, and a rule may name that directory. */
function withHomes(texts: string[]): string[] {
  const filled = texts.map((text) => (text.includes('~') ? text.replaceAll(/(^|[\s=:])~[\w.+-]*/g, `$1${UNKNOWN}`) : text));
  return [...new Set([...texts, ...filled])];
}

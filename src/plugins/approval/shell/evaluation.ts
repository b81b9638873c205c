import type { Assignment, ParameterExpansionPart, Redirection, SyntaxNode } from 'unbash';
import { UNKNOWN, wordOf } from './word-text.ts';

/**
 * Bash evaluates arithmetic and the subscripts of arrays as often as it takes: a substitution that was quoted, or that is in the value of a variable, runs there.
 * This notes both halves of that wherever they stand in a command: what evaluates, and a text that could have something to run.
 */
export class Evaluation {
  evaluates = false;
  carries = false;
  /** What carries is put together when the command runs, so that what it would run cannot be searched for. */
  isPutTogether = false;
  private expansions = 0;

  /** Whether a text can run a command that no part of the whole shows. */
  get runsTexts(): boolean {
    return this.evaluates && this.carries;
  }

  enter(node: SyntaxNode): void {
    if (node.type === 'ParameterExpansion') this.expansion(node);
    else if (node.type === 'Assignment') this.assignment(node);
    else if (node.type === 'For' || node.type === 'Select') for (const word of node.wordlist ?? []) this.setByShell(wordOf(node.name).text, wordOf(word).text);
    else if (node.type === 'Redirect') this.redirection(node);
    else if (EVALUATING.has(node.type)) this.evaluates = true;
  }

  leave(node: SyntaxNode): void {
    if (node.type === 'ParameterExpansion') this.expansions -= 1;
  }

  /** A substitution in a quoted text. Within an expansion it may run in any case: which quotes count there depends on those around it. */
  hidden(): void {
    this.carries = true;
    if (this.expansions > 0) this.evaluates = true;
  }

  /** Builtins that evaluate the names that they are given. */
  command(name: string, words: string[]): void {
    if (EVALUATING_BUILTINS.has(name) || (NAMED_BY_OPTION.has(name) && words.some((word) => /^-[vR]/.test(word)))) this.evaluates = true;
  }

  private expansion({ parameter, prefix, index, operation }: ParameterExpansionPart): void {
    this.expansions += 1;
    if (index || operation?.type === 'Slice' || prefix === '!') this.evaluates = true;
    if (operation?.type === 'Default' && operation.operator.endsWith('=')) this.setByShell(parameter, wordOf(operation.operand).text);
  }

  private assignment({ name, index, value }: Assignment): void {
    if (index || INTEGERS.has(name)) this.evaluates = true;
    this.assigned(value.type === 'Word' ? wordOf(value).text : '[');
  }

  /** The target after `>&` is expanded a second time. */
  private redirection({ operator, target }: Extract<Redirection, { type: 'Redirect' }>): void {
    if (operator.endsWith('&') && target && !/^(\d+-?|-)$/.test(wordOf(target).text)) this.evaluates = true;
  }

  /** A rule has to allow the assignment itself. Only an array's element in the value can have more than that shows. */
  private assigned(text: string): void {
    if (!text.includes('[')) return;
    this.carries = true;
    if (text.includes(UNKNOWN) || text.includes('$')) this.isPutTogether = true;
  }

  /** No rule has to allow these values, and names of files may be among them. */
  private setByShell(name: string, text: string): void {
    if (INTEGERS.has(name)) this.evaluates = true;
    this.assigned(text);
    if (text.includes(UNKNOWN) || /[*?]/.test(text)) this.carries = true;
  }
}

const EVALUATING = new Set<string>(['ArithmeticExpansion', 'ArithmeticCommand', 'ArithmeticFor', 'TestCommand']);
/** Variables of the shell whose values are evaluated when they are set. */
const INTEGERS = new Set(['RANDOM', 'SRANDOM', 'SECONDS', 'OPTIND', 'HISTCMD', 'LINENO', 'EPOCHSECONDS', 'BASHPID', 'PPID', 'UID', 'EUID']);
const EVALUATING_BUILTINS = new Set(['let', 'read', 'unset', 'declare', 'typeset', 'local', 'export', 'readonly', 'mapfile', 'readarray', 'getopts', 'wait']);
const NAMED_BY_OPTION = new Set(['printf', 'test', '[']);

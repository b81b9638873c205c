import type { Assignment, ParameterExpansionPart, ParameterOperation, Redirection, SyntaxNode, Word } from 'unbash';
import { evaluatesNames, readsInput } from './builtins.ts';
import { UNKNOWN, wordOf } from './word-text.ts';

/**
 * Bash evaluates arithmetic and the subscripts of arrays as often as it takes: a substitution that was quoted, that is in the value of a variable, or that a file
 * or a command gives, runs there. This notes both halves of that wherever they stand in a command: what evaluates, and a text that could have something to run.
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
    this.evaluates ||= evaluatesIn(node);
    // The answer to `select` is in REPLY.
    this.carries ||= OF_OUTPUT.has(node.type) || node.type === 'Select';
  }

  leave(node: SyntaxNode): void {
    if (node.type === 'ParameterExpansion') this.expansions -= 1;
  }

  /** A substitution in a quoted text. Within an expansion it may run in any case: which quotes count there depends on those around it. */
  hidden(): void {
    this.carries = true;
    if (this.expansions > 0) this.evaluates = true;
  }

  command(name: string, words: string[]): void {
    if (evaluatesNames(name, words)) this.evaluates = true;
    if (readsInput(name)) this.carries = true;
  }

  /** No rule has to allow these values, and names of files may be among them. */
  setByShell(name: string, text: string): void {
    if (INTEGERS.has(name)) this.evaluates = true;
    this.assigned(text);
    if (text.includes(UNKNOWN) || /[*?]/.test(text)) this.carries = true;
  }

  private expansion({ parameter, prefix, index, operation }: ParameterExpansionPart): void {
    this.expansions += 1;
    if (index || operation?.type === 'Slice' || prefix === '!') this.evaluates = true;
    if (operation?.type === 'Default' && operation.operator.endsWith('=')) this.setByShell(parameter, wordOf(operation.operand).text);
    const added = operation && addedBy(operation);
    if (added && wordOf(added).text.includes('[')) this.carries = true;
  }

  private assignment({ name, index, value }: Assignment): void {
    const hasIndex = index !== undefined || (value.type === 'ArrayValue' && value.elements.some(({ text }) => text.startsWith('[')));
    if (hasIndex || INTEGERS.has(name)) this.evaluates = true;
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
}

function evaluatesIn(node: SyntaxNode): boolean {
  return node.type === 'TestBinary' || node.type === 'TestUnary' ? EVALUATING_TESTS.has(node.operator) : EVALUATING.has(node.type);
}

/** `${y/X/[}` makes an array's element of a value that had none. */
function addedBy(operation: ParameterOperation): Word | undefined {
  if (operation.type === 'Replace') return operation.replacement;
  return operation.type === 'Default' ? operation.operand : undefined;
}

const EVALUATING = new Set<string>(['ArithmeticExpansion', 'ArithmeticCommand', 'ArithmeticFor']);
/** Tests of `[[`. */
const EVALUATING_TESTS = new Set(['-eq', '-ne', '-lt', '-le', '-gt', '-ge', '-v', '-R']);
/** What a command says: nothing of it is known. */
const OF_OUTPUT = new Set<string>(['CommandExpansion', 'ArithmeticCommandExpansion']);
/** Variables of the shell whose values are evaluated when they are set. */
const INTEGERS = new Set(['RANDOM', 'SRANDOM', 'SECONDS', 'OPTIND', 'HISTCMD', 'LINENO', 'EPOCHSECONDS', 'BASHPID', 'PPID', 'UID', 'EUID']);

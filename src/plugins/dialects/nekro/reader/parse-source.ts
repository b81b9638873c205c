/** Parses a file of a plugin with Babel: `oxc-parser` overflows the stack at some thousand nested brackets, which ends the whole process (oxc issue 24375). */
import { parse, type ParserPlugin } from '@babel/parser';
import type { CallExpression, CommentBlock, Node, Program } from '@babel/types';
import type { SourceLanguage } from '../../shared/plugin-dialect.ts';
import { createScopes, type Scopes } from './scopes.ts';

export interface ParsedSource {
  /** Without a byte order mark. */
  text: string;
  program: Program;
  /** All comments, in their order. */
  comments: Comment[];
  scopes: Scopes;
  parentOf(node: Node): Node | undefined;
  /** Calls whose function is a call of `….mountSandboxMethod`, in their order. */
  mounts: CallExpression[];
}

export type Comment = Range & { isDoc: boolean };

export interface Range {
  start: number;
  end: number;
}

const PLUGINS: Record<SourceLanguage, ParserPlugin[]> = {
  ts: ['typescript'],
  tsx: ['typescript', 'jsx'],
  js: ['jsx'],
  jsx: ['jsx'],
};

/** @throws a SyntaxError, or a RangeError when the source is nested too deeply. */
export function parseSource(given: string, language: SourceLanguage): ParsedSource {
  const text = given.replace(/^\uFEFF/, '');
  const file = parse(text, {
    // The bundler reads both, too.
    sourceType: 'unambiguous',
    allowReturnOutsideFunction: true,
    // Positions are found by `rangeOf`, and comments by their positions.
    attachComment: false,
    // A source that the bundler accepts is read, whatever else is wrong with it.
    errorRecovery: true,
    plugins: [...PLUGINS[language], 'decorators-legacy', 'decoratorAutoAccessors', 'explicitResourceManagement'],
  });
  const parents = new Map<Node, Node>();
  const mounts: CallExpression[] = [];
  const scopes = createScopes((node) => parents.get(node));
  // Not recursive: a chain of calls is as deep as it is long.
  const waiting: Node[] = [file.program];
  for (let node = waiting.pop(); node; node = waiting.pop()) {
    scopes.declare(node);
    if (isMount(node)) mounts.push(node);
    for (const child of childrenOf(node)) {
      parents.set(child, node);
      waiting.push(child);
    }
  }
  const comments = (file.comments ?? []).map((comment) => ({ ...rangeOf(comment), isDoc: comment.type === 'CommentBlock' && isDoc(comment) }));
  mounts.sort((one, other) => rangeOf(one).start - rangeOf(other).start);
  return { text, program: file.program, comments, scopes, parentOf: (node) => parents.get(node), mounts };
}

/** The index of the first comment that ends after a position. */
export function indexAfter(comments: Comment[], position: number): number {
  let [low, high] = [0, comments.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((comments[middle]?.end ?? 0) <= position) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function rangeOf({ start, end }: { start?: number | null | undefined; end?: number | null | undefined }): Range {
  return { start: start ?? 0, end: end ?? 0 };
}

/** The name of a member. Undefined where it is computed. */
export function nameOfKey(key: Node, computed: boolean): string | undefined {
  if (key.type === 'Identifier') return computed ? undefined : key.name;
  return key.type === 'StringLiteral' ? key.value : undefined;
}

/** The text of a template without expressions. */
export function textOfTemplate(node: Node): string | undefined {
  return node.type === 'TemplateLiteral' && node.expressions.length === 0 ? (node.quasis[0]?.value.cooked ?? undefined) : undefined;
}

function isDoc({ value }: CommentBlock): boolean {
  return value.startsWith('*') && value.length > 1;
}

function isMount(node: Node): node is CallExpression {
  if (node.type !== 'CallExpression' || node.callee.type !== 'CallExpression') return false;
  const { callee } = node.callee;
  return callee.type === 'MemberExpression' && !callee.computed && callee.property.type === 'Identifier' && callee.property.name === 'mountSandboxMethod';
}

function childrenOf(node: Node): Node[] {
  return Object.values(node).flatMap((part: unknown) => (Array.isArray(part) ? part : [part]).filter(isNode));
}

function isNode(part: unknown): part is Node {
  return typeof part === 'object' && part !== null && 'type' in part && typeof part.type === 'string' && 'start' in part;
}

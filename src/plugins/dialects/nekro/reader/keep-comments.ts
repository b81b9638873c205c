import type { CallExpression, Node } from '@babel/types';
import type { SourceLanguage } from '../../shared/plugin-dialect.ts';
import type { MethodSource } from './method-source.ts';
import { indexAfter, parseSource, rangeOf, textOfTemplate, type ParsedSource } from './parse-source.ts';
import { readMounted } from './read-method.ts';

/** Most characters that are written into one source. */
const MOST_WRITTEN = 8_000_000;

/**
 * Writes the doc comments and parameters of mounted methods into a source, as an argument after each function. A call whose function is not in the source
 * stays unchanged, and so does a source that is not valid, which the bundler reports.
 * @throws an Error that says why the source cannot be read; its message follows "it".
 */
export function keepComments(text: string, language: SourceLanguage): string {
  const source = parse(text, language);
  if (!source) return text;
  let written = '';
  let done = 0;
  for (const mount of source.mounts) {
    const change = changeOf(source, mount);
    if (!change) continue;
    written += source.text.slice(done, change.start) + change.text;
    done = change.end;
    if (written.length - done > MOST_WRITTEN) throw new Error('mounts so many methods that they cannot be read');
  }
  return written + source.text.slice(done);
}

function parse(text: string, language: SourceLanguage): ParsedSource | undefined {
  try {
    return parseSource(text, language);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    if (error instanceof RangeError) throw new Error('is nested so deeply that its methods cannot be read', { cause: error });
    throw error;
  }
}

function changeOf(source: ParsedSource, mount: CallExpression): { start: number; end: number; text: string } | undefined {
  const [given, second, third] = mount.arguments;
  if (!given || third) return undefined;
  const text = second && textOf(second);
  if (second && text === undefined) return undefined;
  const found = readMounted(source, mount, given, text);
  if (!found) return undefined;
  if (second) return { ...rangeOf(second), text: print(found) };
  const at = rangeOf(mount).end - 1;
  return { start: at, end: at, text: `${hasComma(source, given, at) ? ' ' : ', '}${print(found)}` };
}

/** As an expression. JSON is one, and no name in it is `__proto__`. */
function print(found: MethodSource): string {
  return JSON.stringify(found);
}

function textOf(node: Node): string | undefined {
  return node.type === 'StringLiteral' ? node.value : textOfTemplate(node);
}

/** Whether a comma follows the only argument of a call that ends at `end`. */
function hasComma({ text, comments }: ParsedSource, given: Node, end: number): boolean {
  let from = rangeOf(given).end;
  for (let index = indexAfter(comments, from); index < comments.length; index += 1) {
    const comment = comments[index];
    if (!comment || comment.end > end) break;
    if (text.slice(from, comment.start).includes(',')) return true;
    from = comment.end;
  }
  return text.slice(from, end).includes(',');
}

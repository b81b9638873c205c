import type { CallExpression, Node } from '@babel/types';
import type { MethodSource } from './method-source.ts';
import { commentOfMethod } from './comment-of-method.ts';
import { readDocComment } from './doc-comment.ts';
import { findMethod, type FoundMethod } from './find-method.ts';
import { parseSource, type ParsedSource } from './parse-source.ts';
import { readParameters } from './read-parameters.ts';

/**
 * Reads what a call that mounts a method says about it.
 * @param text Replaces the doc comment.
 */
export function readMounted(source: ParsedSource, mount: CallExpression, given: Node, text?: string): MethodSource | undefined {
  const found = findMethod(source, given);
  return found && readFound(source, found, text ?? commentOfMethod(source, found, mount));
}

/** Reads a function from its own text, `String(fn)`, in JavaScript. Undefined where the text is none that can be read alone. */
export function readMethodText(method: string, text?: string): MethodSource | undefined {
  // A method of an object or a class is one only within an object.
  for (const alone of [`(${method}\n)`, `({${method}\n})`]) {
    try {
      const source = parseSource(alone, 'js');
      const found = findOnly(source);
      if (found) return readFound(source, found, text ?? commentOfMethod(source, found));
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
    }
  }
  return undefined;
}

/** The function that is all of a source. */
function findOnly(source: ParsedSource): FoundMethod | undefined {
  const [statement, ...others] = source.program.body;
  if (statement?.type !== 'ExpressionStatement' || others.length > 0) return undefined;
  const { expression } = statement;
  if (expression.type !== 'ObjectExpression') return findMethod(source, expression);
  const [member] = expression.properties;
  return expression.properties.length === 1 && member?.type === 'ObjectMethod' ? { fn: member, name: undefined, declared: [member] } : undefined;
}

function readFound(source: ParsedSource, { fn, name }: FoundMethod, comment: string | undefined): MethodSource {
  const doc = comment === undefined ? undefined : readDocComment(comment);
  return { ...(name !== undefined && { name }), ...(doc && { doc: doc.text }), parameters: readParameters(source, fn, doc) };
}

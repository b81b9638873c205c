import type { Node } from '@babel/types';
import type { FoundMethod } from './find-method.ts';
import { indexAfter, rangeOf, type Comment, type ParsedSource } from './parse-source.ts';

/**
 * The doc comment of a mounted method: at the top of its body, in or before its declaration, or before the call that mounts it. Undefined if it has none.
 */
export function commentOfMethod(source: ParsedSource, { fn, declared }: FoundMethod, mount?: Node): string | undefined {
  const places = [...declared, ...(mount ? placesOf(mount, source) : [])];
  const found = commentAtTop(source, fn.body) ?? first(places, (node) => commentIn(source, node) ?? commentBefore(source, rangeOf(node).start));
  return found && source.text.slice(found.start, found.end);
}

function first<Item, Found>(items: Item[], find: (item: Item) => Found | undefined): Found | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

const AROUND =
  /^(ExpressionStatement|ReturnStatement|Variable\w+|Export\w+|AssignmentExpression|AwaitExpression|UnaryExpression|ObjectProperty|ClassProperty|TS\w+Expression)$/;

/** The call of a mount, and the expressions and the statement around it whose comment is one of the call. */
function placesOf(mount: Node, source: ParsedSource): Node[] {
  const places = [mount];
  let last = mount;
  for (let node = source.parentOf(mount); node; node = source.parentOf(node)) {
    const isFirst = node.type === 'VariableDeclaration' ? node.declarations[0] === last : AROUND.test(node.type) || node.start === last.start;
    if (!isFirst || node.type === 'Program') break;
    if (node.start !== last.start) places.push(node);
    if (/Statement$|Property$/.test(node.type)) break;
    last = node;
  }
  return places;
}

/** The last doc comment that ends before a position, with nothing but spaces, opening brackets and other comments between them. */
function commentBefore({ text, comments }: ParsedSource, position: number): Comment | undefined {
  let end = position;
  for (let index = indexAfter(comments, position) - 1; index >= 0; index -= 1) {
    const comment = comments[index];
    if (!comment || !/^[\s(]*$/.test(text.slice(comment.end, end))) return undefined;
    if (comment.isDoc) return comment;
    end = comment.start;
  }
  return undefined;
}

/** The first doc comment in a body, before any statement. One before a function or class within the body belongs to that. */
function commentAtTop({ text, comments }: ParsedSource, body: Node): Comment | undefined {
  if (body.type !== 'BlockStatement') return undefined;
  const [statement] = body.body;
  if (statement && /^(Function|Class|TS\w+)Declaration$/.test(statement.type)) return undefined;
  let start = rangeOf(body).start + 1;
  for (let index = indexAfter(comments, start); index < comments.length; index += 1) {
    const comment = comments[index];
    if (!comment || text.slice(start, comment.start).trim() !== '') return undefined;
    if (comment.isDoc) return comment;
    start = comment.end;
  }
  return undefined;
}

/** The last doc comment between the beginning of a declaration and its parameters: behind decorators or words like `export`. */
function commentIn({ comments }: ParsedSource, node: Node): Comment | undefined {
  const { start } = rangeOf(node);
  const end = rangeOf(keyOf(node)).start;
  const decorators = ('decorators' in node && node.decorators) || [];
  for (let index = indexAfter(comments, end) - 1; index >= 0; index -= 1) {
    const comment = comments[index];
    if (!comment || comment.start < start) return undefined;
    if (comment.isDoc && !decorators.some((one) => rangeOf(one).start < comment.start && comment.end < rangeOf(one).end)) return comment;
  }
  return undefined;
}

/** What of a declaration its comment stands before. */
function keyOf(node: Node): Node {
  if (node.type === 'ExportNamedDeclaration' || node.type === 'ExportDefaultDeclaration') return node.declaration ?? node;
  if (node.type === 'VariableDeclaration') return node.declarations[0] ?? node;
  if ('key' in node) return node.key;
  return 'id' in node && node.id ? node.id : node;
}

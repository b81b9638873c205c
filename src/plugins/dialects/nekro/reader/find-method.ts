import type { ClassBody, Expression, Function as FunctionNode, Node, ObjectExpression } from '@babel/types';
import { nameOfKey, type ParsedSource } from './parse-source.ts';

/** A mounted function in the source. */
export interface FoundMethod {
  fn: FunctionNode;
  /** Undefined for a function without a name. */
  name: string | undefined;
  /** What its comment may stand before or in: the function, and what declares it; the closest first. */
  declared: Node[];
}

/** How often a name may lead to another name. */
const MOST_STEPS = 20;

/** Finds the function that a mount is given: one that is written there, or by a name or a member of an object or class. Undefined for any other. */
export function findMethod(source: ParsedSource, given: Node, steps = 0): FoundMethod | undefined {
  const node = unwrapped(given);
  if (steps > MOST_STEPS) return undefined;
  if (node.type === 'FunctionExpression') return { fn: node, name: node.id?.name, declared: [node] };
  if (node.type === 'ArrowFunctionExpression') return { fn: node, name: undefined, declared: [node] };
  if (node.type === 'Identifier') return findByName(source, node.name, node, steps);
  if (node.type === 'MemberExpression') return findMember(source, node.object, nameOfKey(node.property, node.computed), steps);
  const bound = boundBy(node);
  return bound && findMethod(source, bound, steps + 1);
}

/** The function of `fn.bind(…)`. */
function boundBy(node: Node): Node | undefined {
  if (node.type !== 'CallExpression' || node.callee.type !== 'MemberExpression' || node.arguments.length !== 1) return undefined;
  return nameOfKey(node.callee.property, node.callee.computed) === 'bind' ? node.callee.object : undefined;
}

function unwrapped(node: Node): Node {
  let inner = node;
  while (/^(TSAsExpression|TSSatisfiesExpression|TSNonNullExpression|TSTypeAssertion|ParenthesizedExpression)$/.test(inner.type)) {
    inner = (inner as { expression: Expression } & Node).expression;
  }
  return inner;
}

function findByName(source: ParsedSource, name: string, from: Node, steps: number): FoundMethod | undefined {
  const found = source.scopes.resolve(name, from);
  const fn = found.find((node) => node.type === 'FunctionDeclaration');
  if (fn)
    return {
      fn,
      name,
      declared: withSignatures(
        fn,
        found.filter((node) => node.type === 'TSDeclareFunction'),
        source,
      ),
    };
  const value = constantOf(found, source);
  const method = value && findMethod(source, value.init, steps + 1);
  if (!method) return undefined;
  return { ...method, name: method.name ?? name, declared: [...method.declared, ...withWrappers(value.declarator, source)] };
}

/** The implementation, then its signatures before it, of which the nearest is the first. */
function withSignatures(fn: Node, signatures: Node[], source: ParsedSource): Node[] {
  return [fn, ...signatures.toReversed()].flatMap((node) => withWrappers(node, source));
}

/** A declaration, and the export or statement that it is the first part of. */
function withWrappers(node: Node, source: ParsedSource): Node[] {
  const parent = source.parentOf(node);
  if (parent?.type === 'VariableDeclaration') return parent.declarations[0] === node ? [node, ...withWrappers(parent, source)] : [node];
  return parent?.type === 'ExportNamedDeclaration' || parent?.type === 'ExportDefaultDeclaration' ? [node, parent] : [node];
}

function constantOf(found: Node[], source: ParsedSource): { declarator: Node; init: Node } | undefined {
  const [declarator] = found;
  if (found.length !== 1 || declarator?.type !== 'VariableDeclarator' || declarator.id.type !== 'Identifier' || !declarator.init) return undefined;
  const statement = source.parentOf(declarator);
  return statement?.type === 'VariableDeclaration' && statement.kind === 'const' ? { declarator, init: declarator.init } : undefined;
}

function findMember(source: ParsedSource, object: Node, name: string | undefined, steps: number): FoundMethod | undefined {
  const holder = name === undefined ? undefined : holderOf(source, unwrapped(object), steps);
  const members = holder?.members.filter((member) => keyOf(member) === name) ?? [];
  const member = members.find(({ type }) => type !== 'TSDeclareMethod');
  const found = member && findInMember(source, member, steps);
  if (!found) return undefined;
  const signatures = members.filter(({ type }) => type === 'TSDeclareMethod').toReversed();
  return { fn: found.fn, name: found.name ?? name, declared: [...found.declared, member, ...signatures] };
}

function findInMember(source: ParsedSource, member: Node, steps: number): FoundMethod | undefined {
  if (member.type === 'ObjectMethod' || member.type === 'ClassMethod') return { fn: member, name: undefined, declared: [] };
  if (member.type !== 'ObjectProperty' && member.type !== 'ClassProperty') return undefined;
  return member.value ? findMethod(source, member.value, steps + 1) : undefined;
}

function keyOf(member: Node): string | undefined {
  return 'key' in member ? nameOfKey(member.key, 'computed' in member && member.computed) : undefined;
}

interface Holder {
  members: Node[];
}

/** The members of an object, of a class (those of the class itself), or of an instance of a class. */
function holderOf(source: ParsedSource, object: Node, steps: number): Holder | undefined {
  if (steps > MOST_STEPS) return undefined;
  if (object.type === 'ObjectExpression') return { members: membersOfObject(object) };
  if (object.type === 'ClassExpression') return membersOfClass(object.body, true);
  if (object.type === 'NewExpression') return object.callee.type === 'Identifier' ? classOf(source, object.callee.name, object, false) : undefined;
  if (object.type === 'ThisExpression') return holderOfThis(source, object);
  if (object.type !== 'Identifier') return undefined;
  const value = constantOf(source.scopes.resolve(object.name, object), source);
  return value ? holderOf(source, unwrapped(value.init), steps + 1) : classOf(source, object.name, object, true);
}

/** Undefined for an object that may get a method of that name from another. */
function membersOfObject({ properties }: ObjectExpression): Node[] {
  return properties.some(({ type }) => type === 'SpreadElement') ? [] : properties;
}

function classOf(source: ParsedSource, name: string, from: Node, isStatic: boolean): Holder | undefined {
  const found = source.scopes.resolve(name, from).find(({ type }) => type === 'ClassDeclaration' || type === 'VariableDeclarator');
  if (found?.type === 'ClassDeclaration') return membersOfClass(found.body, isStatic);
  return found?.type === 'VariableDeclarator' && found.init?.type === 'ClassExpression' ? membersOfClass(found.init.body, isStatic) : undefined;
}

function membersOfClass({ body }: ClassBody, isStatic: boolean): Holder {
  return { members: body.filter((member) => 'static' in member && (member.static === true) === isStatic) };
}

/** `this` in a method or field of a class. */
function holderOfThis(source: ParsedSource, node: Node): Holder | undefined {
  for (let above = source.parentOf(node); above; above = source.parentOf(above)) {
    const parent = source.parentOf(above);
    if (parent?.type === 'ClassBody') return membersOfClass(parent, ('static' in above && above.static === true) || above.type === 'StaticBlock');
    if (above.type === 'FunctionDeclaration' || above.type === 'FunctionExpression' || above.type === 'ObjectMethod') return undefined;
  }
  return undefined;
}

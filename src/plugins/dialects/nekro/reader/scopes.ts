import type { Node } from '@babel/types';

/** What names mean in the parts of a file. */
export interface Scopes {
  /** Notes what a node declares. The nodes around it have been noted before. */
  declare(node: Node): void;
  /**
   * The declarations of the name that is nearest to the node, of which a function with several signatures has several. A declarator, parameter or import
   * of the name hides those further out.
   */
  resolve(name: string, from: Node): Node[];
}

const SCOPES = /^(Program|BlockStatement|StaticBlock|TSModuleBlock|SwitchStatement|CatchClause|For\w*Statement|Class\w+|ObjectMethod|\w*Function\w*)$/;
const NAMED = /^(FunctionDeclaration|TSDeclareFunction|ClassDeclaration|TS(TypeAlias|Interface|Enum|Module)Declaration)$/;

export function createScopes(parentOf: (node: Node) => Node | undefined): Scopes {
  const names = new Map<Node, Map<string, Node[]>>();
  const scopeAbove = (node: Node): Node | undefined => {
    let above = parentOf(node);
    while (above && !SCOPES.test(above.type)) above = parentOf(above);
    return above;
  };
  const note = (scope: Node | undefined, name: string, node: Node): void => {
    if (!scope) return;
    const held = names.get(scope) ?? new Map<string, Node[]>();
    names.set(scope, held.set(name, [...(held.get(name) ?? []), node].slice(-MOST_SIGNATURES)));
  };
  const noteAll = (scope: Node, pattern: Node): void => namesIn(pattern).forEach((name) => note(scope, name, pattern));
  return {
    declare(node) {
      for (const name of declaredBy(node)) note(scopeAbove(node), name, node);
      if (node.type === 'CatchClause' && node.param) noteAll(node, node.param);
      if ('params' in node && Array.isArray(node.params)) for (const parameter of node.params) noteAll(node, parameter);
    },
    resolve(name, from) {
      for (let scope = scopeAbove(from); scope; scope = scopeAbove(scope)) {
        const found = names.get(scope)?.get(name);
        if (found) return found.toSorted((one, other) => (one.start ?? 0) - (other.start ?? 0));
      }
      return [];
    },
  };
}

/** More declarations of one name are not held. */
const MOST_SIGNATURES = 50;

function declaredBy(node: Node): string[] {
  if (NAMED.test(node.type) && 'id' in node && node.id?.type === 'Identifier') return [node.id.name];
  if (node.type === 'VariableDeclarator') return namesIn(node.id);
  return 'local' in node && node.type.startsWith('Import') && node.local?.type === 'Identifier' ? [node.local.name] : [];
}

/** The names that a pattern declares. */
function namesIn(pattern: Node): string[] {
  const names: string[] = [];
  const waiting: Node[] = [pattern];
  for (let node = waiting.pop(); node; node = waiting.pop()) {
    if (node.type === 'Identifier') names.push(node.name);
    else waiting.push(...targetsOf(node));
  }
  return names;
}

function targetsOf(pattern: Node): Node[] {
  switch (pattern.type) {
    case 'AssignmentPattern':
      return [pattern.left];
    case 'RestElement':
      return [pattern.argument];
    case 'ArrayPattern':
      return pattern.elements.filter((element) => element !== null);
    case 'ObjectPattern':
      return pattern.properties;
    case 'ObjectProperty':
      return [pattern.value];
    default:
      return [];
  }
}

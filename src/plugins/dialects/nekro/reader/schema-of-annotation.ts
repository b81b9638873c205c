import type { Node } from '@babel/types';
import type { JsonObject } from '../../../../contracts/json.ts';
import { schemaOfAlternatives, type Alternative } from './alternatives.ts';
import type { ParsedSource } from './parse-source.ts';

const SIMPLE = new Map([
  ['TSStringKeyword', 'string'],
  ['TSNumberKeyword', 'number'],
  ['TSBooleanKeyword', 'boolean'],
  ['TSObjectKeyword', 'object'],
  ['TSTypeLiteral', 'object'],
  ['TSMappedType', 'object'],
  ['TSTupleType', 'array'],
]);
const LISTS = new Set(['Array', 'ReadonlyArray']);
const DECLARATION = /^(TS(TypeAlias|Interface|Enum)|Class)Declaration$/;
const OBJECTS = new Set(['Record', 'Object']);
/** A type of more parts accepts any value: aliases that name each other can have very many. */
const MOST_PARTS = 500;

/** JSON Schema of a TypeScript type. An unknown or very large type accepts any value. */
export function schemaOfAnnotation(type: Node, source: ParsedSource): JsonObject {
  const reader = new Reader(source);
  const schema = schemaOfAlternatives(reader.read(type));
  return reader.isOverdrawn() ? ANY : schema;
}

const ANY: JsonObject = {};
const UNKNOWN: Alternative[] = [{ schema: ANY }];

class Reader {
  readonly #source: ParsedSource;
  #left = MOST_PARTS;

  constructor(source: ParsedSource) {
    this.#source = source;
  }

  isOverdrawn(): boolean {
    return this.#left < 0;
  }

  read(node: Node): Alternative[] {
    this.#left -= 1;
    if (this.isOverdrawn()) return UNKNOWN;
    const simple = SIMPLE.get(node.type);
    if (simple !== undefined) return [{ schema: { type: simple } }];
    if (node.type === 'TSNullKeyword') return ['null'];
    if (node.type === 'TSUndefinedKeyword' || node.type === 'TSVoidKeyword') return ['undefined'];
    return this.#readOf(node);
  }

  #readOf(node: Node): Alternative[] {
    switch (node.type) {
      case 'TSUnionType':
        return node.types.flatMap((part) => this.read(part));
      case 'TSParenthesizedType':
        return this.read(node.typeAnnotation);
      case 'TSTypeOperator':
        return node.operator === 'readonly' ? this.read(node.typeAnnotation) : UNKNOWN;
      case 'TSArrayType':
        return this.#listOf(node.elementType);
      case 'TSLiteralType':
        return [valueOf(node.literal)];
      case 'TSTypeReference':
        return node.typeName.type === 'Identifier' ? this.#ofName(node.typeName.name, node, node.typeParameters?.params[0]) : UNKNOWN;
      default:
        return UNKNOWN;
    }
  }

  #listOf(part: Node | undefined): Alternative[] {
    return [{ schema: { type: 'array', items: part ? schemaOfAlternatives(this.read(part)) : ANY } }];
  }

  #ofName(name: string, node: Node, parameter: Node | undefined): Alternative[] {
    const [declared] = this.#source.scopes.resolve(name, node).filter((one) => DECLARATION.test(one.type));
    if (declared?.type === 'TSTypeAliasDeclaration') return declared.typeParameters ? UNKNOWN : this.read(declared.typeAnnotation);
    if (declared) return declared.type === 'TSInterfaceDeclaration' ? [{ schema: { type: 'object' } }] : UNKNOWN;
    if (LISTS.has(name)) return this.#listOf(parameter);
    return OBJECTS.has(name) ? [{ schema: { type: 'object' } }] : UNKNOWN;
  }
}

function valueOf(literal: Node): Alternative {
  if (literal.type === 'StringLiteral' || literal.type === 'NumericLiteral' || literal.type === 'BooleanLiteral') return { value: literal.value };
  if (literal.type === 'TemplateLiteral') return { schema: { type: 'string' } };
  if (literal.type !== 'UnaryExpression' || literal.operator !== '-' || literal.argument.type !== 'NumericLiteral') return { schema: {} };
  return { value: -literal.argument.value };
}

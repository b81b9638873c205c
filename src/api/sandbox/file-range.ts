export interface Part {
  first: number;
  last: number;
}

const FROM_TO = /^bytes=(\d{1,15})-(\d{0,15})$/;
const LAST = /^bytes=-(\d{1,15})$/;

/** The bytes that a `Range` header asks for. Undefined for what may be ignored: several ranges, and other units. */
export function partOf(range: string, size: number): Part | 'unsatisfiable' | undefined {
  const [, count] = LAST.exec(range) ?? [];
  if (count !== undefined) return within({ first: Math.max(0, size - Number(count)), last: size - 1 }, size);
  const [, first, last] = FROM_TO.exec(range) ?? [];
  if (first === undefined || (last !== '' && Number(last) < Number(first))) return undefined;
  return within({ first: Number(first), last: last === '' ? size - 1 : Math.min(Number(last), size - 1) }, size);
}

function within(part: Part, size: number): Part | 'unsatisfiable' {
  return part.first >= size || part.last < part.first ? 'unsatisfiable' : part;
}

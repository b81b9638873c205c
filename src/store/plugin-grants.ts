import type { PermissionBound } from '../contracts/agent.ts';

const LISTS = ['network', 'env', 'fs'] as const;
const FLAGS = ['time', 'random'] as const;

/** A permission as a row; the value is empty for a permission that is only granted or not. */
export interface GrantRow {
  permission: (typeof LISTS)[number] | (typeof FLAGS)[number];
  value: string;
}

/** Sorted, so that two statements with the same rows cannot deadlock. */
export function toGrantRows(permissions: PermissionBound): GrantRow[] {
  const listed = LISTS.flatMap((permission) => (permissions[permission] ?? []).map((value): GrantRow => ({ permission, value: normal(permission, value) })));
  const flags = FLAGS.filter((permission) => permissions[permission]).map((permission): GrantRow => ({ permission, value: '' }));
  return [...listed, ...flags].toSorted((a, b) => (grantKeyOf(a) < grantKeyOf(b) ? -1 : 1));
}

export function fromGrantRows(rows: GrantRow[]): PermissionBound {
  const permissions: PermissionBound = {};
  for (const name of LISTS) {
    const values = rows.filter(({ permission }) => permission === name).map(({ value }) => value);
    if (values.length > 0) permissions[name] = [...new Set(values)];
  }
  for (const name of FLAGS) if (rows.some(({ permission }) => permission === name)) permissions[name] = true;
  return permissions;
}

/** Host names are not case-sensitive. */
function normal(permission: GrantRow['permission'], value: string): string {
  return permission === 'network' ? value.toLowerCase() : value;
}

export function grantKeyOf({ permission, value }: GrantRow): string {
  return `${permission} ${value}`;
}

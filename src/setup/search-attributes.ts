import type { Connection } from '@temporalio/client';
import { INDEXED_TYPES, missingAttributes, SEARCH_ATTRIBUTES } from '../contracts/search-attributes.ts';

const ALREADY_EXISTS = 6;

/** Registers the search attributes that the namespace does not have. May be repeated, and run by several processes at once. Returns the missing names. */
export async function registerSearchAttributes(connection: Connection, namespace: string): Promise<string[]> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  const missing = missingAttributes(customAttributes).flatMap(({ name, problem }) => (problem === 'missing' ? [name] : []));
  if (missing.length === 0) return [];
  try {
    const searchAttributes = Object.fromEntries(missing.map((name) => [name, INDEXED_TYPES[SEARCH_ATTRIBUTES[name]]]));
    await connection.operatorService.addSearchAttributes({ namespace, searchAttributes });
  } catch (error) {
    if ((error as { code?: number }).code !== ALREADY_EXISTS) throw error;
  }
  return missing;
}

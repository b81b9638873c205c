import type { Connection } from '@temporalio/client';
import { failure } from '../contracts/errors.ts';
import { INDEXED_TYPES, missingAttributes, SEARCH_ATTRIBUTES, tellMissing } from '../contracts/search-attributes.ts';

const ALREADY_EXISTS = 6;

/**
 * Registers the search attributes that the namespace does not have. May be repeated, and run by several processes at once. Returns the missing names.
 * @throws TEMPORAL_NOT_PREPARED when it has some with another type; nothing is registered then
 */
export async function registerSearchAttributes(connection: Connection, namespace: string): Promise<string[]> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  const lacks = missingAttributes(customAttributes);
  if (lacks.some(({ problem }) => problem === 'other type')) {
    throw failure('TEMPORAL_NOT_PREPARED', { namespace, address: connection.options.address, ...tellMissing(lacks) });
  }
  const missing = lacks.flatMap(({ name, problem }) => (problem === 'missing' ? [name] : []));
  if (missing.length === 0) return [];
  try {
    const searchAttributes = Object.fromEntries(missing.map((name) => [name, INDEXED_TYPES[SEARCH_ATTRIBUTES[name]]]));
    await connection.operatorService.addSearchAttributes({ namespace, searchAttributes });
  } catch (error) {
    if ((error as { code?: number }).code !== ALREADY_EXISTS) throw error;
  }
  return missing;
}

import type { NativeConnection } from '@temporalio/worker';
import { failure } from '../contracts/errors.ts';
import { missingAttributes, tellMissing } from '../contracts/search-attributes.ts';
import type { Logger } from '../platform/log.ts';

// gRPC status codes.
const NOT_FOUND = 5;
const PERMISSION_DENIED = 7;
const UNIMPLEMENTED = 12;

export interface CheckedNamespace {
  address: string;
  namespace: string;
  connection: Pick<NativeConnection, 'operatorService'>;
  log: Logger;
}

/**
 * Without a search attribute that conversations set, Temporal refuses each of their workflow tasks: they would stand still, and only Temporal's UI would say why.
 * @throws TEMPORAL_NOT_PREPARED naming them
 */
export async function checkSearchAttributes({ address, namespace, connection, log }: CheckedNamespace): Promise<void> {
  const registered = await listAttributes({ namespace, connection, log });
  const missing = registered ? missingAttributes(registered) : [];
  if (missing.length === 0) return;
  throw failure('TEMPORAL_NOT_PREPARED', { namespace, address, ...tellMissing(missing) });
}

/** Undefined where this worker may not list them, and for a namespace that the server does not know: its first use says that. */
async function listAttributes({ namespace, connection, log }: Omit<CheckedNamespace, 'address'>): Promise<Record<string, unknown> | undefined> {
  try {
    return (await connection.operatorService.listSearchAttributes({ namespace })).customAttributes;
  } catch (error) {
    const { code } = error as { code?: number };
    if (code !== NOT_FOUND && code !== PERMISSION_DENIED && code !== UNIMPLEMENTED) throw error;
    log.warn({ err: error, namespace }, 'the search attributes of Temporal could not be checked; if one is missing, conversations stand still');
    return undefined;
  }
}

import type { Connection } from '@temporalio/client';
import { failure, type LongshoreError } from '../../contracts/errors.ts';
import type { Store, TemporalNamespace } from '../../store/store.ts';

/** Connection to a Temporal server, of a client or of a worker. */
export interface NamespaceParts {
  address: string;
  namespace: string;
  connection: { workflowService: Pick<Connection['workflowService'], 'describeNamespace'> };
}

// gRPC status codes.
const NOT_FOUND = 5;
const PERMISSION_DENIED = 7;
const UNIMPLEMENTED = 12;

/**
 * Makes sure that the database belongs to this namespace. The first process that connects claims the database for its namespace. In any other namespace,
 * the conversations of the database have no workflows and would be treated as ended.
 * @throws DATABASE_ELSEWHERE naming both namespaces; CONFIG_INVALID when the server does not know this one
 */
export async function checkNamespace(home: Store['temporalHome'], parts: NamespaceParts): Promise<void> {
  const here = await identifyNamespace(parts);
  if (here === undefined) throw namespaceAbsent(parts);
  compareNamespaces(await home.claim(here), here, parts.address);
}

/** @throws DATABASE_ELSEWHERE when they are different ones, as far as both servers say */
export function compareNamespaces(owner: TemporalNamespace, here: TemporalNamespace, address: string): void {
  if (owner.name === here.name && (owner.id === undefined || here.id === undefined || owner.id === here.id)) return;
  throw failure('DATABASE_ELSEWHERE', { owner: wordsFor(owner), here: wordsFor(here), address });
}

/** The error for a namespace that its server does not know; says how to make it. */
export function namespaceAbsent({ address, namespace }: Pick<NamespaceParts, 'address' | 'namespace'>, cause?: unknown): LongshoreError {
  const problem = `the Temporal server at ${address} has no namespace "${namespace}"`;
  const fix = `Name one that exists, or make this one: temporal operator namespace create --namespace ${namespace} --address ${address}`;
  return failure('CONFIG_INVALID', { name: 'TEMPORAL_NAMESPACE', problem, fix }, cause);
}

/** The namespace as its server knows it; undefined when the server does not know it. */
export async function identifyNamespace({ address, namespace, connection }: NamespaceParts): Promise<TemporalNamespace | undefined> {
  try {
    const { namespaceInfo } = await connection.workflowService.describeNamespace({ namespace });
    return { name: namespace, ...(namespaceInfo?.id && { id: namespaceInfo.id }) };
  } catch (error) {
    const { code } = error as { code?: number };
    if (code === NOT_FOUND) return undefined;
    // Not every caller may describe the namespace. The name alone distinguishes most namespaces.
    if (code === PERMISSION_DENIED || code === UNIMPLEMENTED) return { name: namespace };
    throw failure('TEMPORAL_UNAVAILABLE', { address, problem: error instanceof Error ? error.message : String(error) }, error);
  }
}

function wordsFor({ name, id }: TemporalNamespace): string {
  return id === undefined ? `"${name}"` : `"${name}" (${id})`;
}

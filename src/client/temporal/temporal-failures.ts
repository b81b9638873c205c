import { isGrpcServiceError, ServiceError, WorkflowUpdateFailedError, WorkflowUpdateRPCTimeoutOrCancelledError } from '@temporalio/client';
import { ApplicationFailure, NamespaceNotFoundError, WorkflowNotFoundError } from '@temporalio/common';
import { ERRORS } from '../../contracts/error-table/error-rows.ts';
import { failure, isFailure, LongshoreError, type ErrorCode } from '../../contracts/errors.ts';
import { namespaceAbsent } from './own-namespace.ts';

/** `unknown`: there is no such conversation. `not-started`: it has a row and no workflow yet. `closed`: it has ended. */
export type Absence = 'unknown' | 'not-started' | 'closed';

const MISSING = { unknown: 'CONVERSATION_NOT_FOUND', 'not-started': 'CONVERSATION_UNSTARTED', closed: 'CONVERSATION_CLOSED' } as const;

/** The subject of a failed call; the error messages name it. */
export interface CallContext {
  address: string;
  conversationId: string;
  /** Why a call finds no running workflow of the conversation. Fails with any error but that. */
  whyMissing(): Promise<Absence>;
}

interface GrpcStatus {
  code: number;
  details: string;
}

// gRPC status codes, by number: importing grpc for three constants would add a dependency that the Temporal client may change.
const INVALID_ARGUMENT = 3;
const DEADLINE_EXCEEDED = 4;
const NOT_FOUND = 5;
const FAILED_PRECONDITION = 9;
const TASK_FAILED = /workflow task/i;

/** Whether Temporal could not read the state of a workflow: it is being ended, or does not answer now. */
export function isUnread(error: unknown): boolean {
  const code = grpcStatus(error)?.code;
  return code === FAILED_PRECONDITION || code === DEADLINE_EXCEEDED;
}

/** Whether Temporal has no running workflow with the id of a call. */
export function isAbsent(error: unknown): boolean {
  return grpcStatus(error)?.code === NOT_FOUND;
}

/** Translates any error of the Temporal client into an error of the table. */
export async function temporalFailure(error: unknown, context: CallContext): Promise<LongshoreError> {
  const { conversationId, address } = context;
  if (isFailure(error)) return error;
  if (error instanceof WorkflowNotFoundError) return missing(context, error);
  if (error instanceof WorkflowUpdateFailedError) return refusal(error, conversationId);
  if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) return failure('NO_WORKER', { conversationId }, error);
  if (error instanceof NamespaceNotFoundError) return namespaceAbsent({ address, namespace: error.namespace }, error);
  const status = grpcStatus(error);
  if (status) return serviceFailure(status, context, error);
  const problem = error instanceof Error ? error.message : String(error);
  return error instanceof ServiceError ? failure('TEMPORAL_UNAVAILABLE', { address, problem }, error) : failure('INTERNAL', { problem }, error);
}

function serviceFailure(status: GrpcStatus, { address, conversationId }: CallContext, error: unknown): LongshoreError {
  // A workflow that Temporal has paused is refused with the same status as one whose newest task has failed, for instance since its worker was killed.
  if (status.code === FAILED_PRECONDITION) return failure(TASK_FAILED.test(status.details) ? 'NO_WORKER' : 'CONVERSATION_SUSPENDED', { conversationId }, error);
  if (status.code === INVALID_ARGUMENT && /search attribute/i.test(status.details)) {
    const fix = 'Register the search attributes with: longshore setup';
    return failure('CONFIG_INVALID', { name: 'Temporal', problem: status.details, fix }, error);
  }
  return failure('TEMPORAL_UNAVAILABLE', { address, problem: status.code === DEADLINE_EXCEEDED ? 'no answer in time' : status.details }, error);
}

async function missing(context: CallContext, error: unknown): Promise<LongshoreError> {
  try {
    return failure(MISSING[await context.whyMissing()], { conversationId: context.conversationId }, error);
  } catch (unanswered) {
    return temporalFailure(unanswered, context);
  }
}

/** The workflow refuses with Longshore's own error codes. The error is rebuilt here, so that the caller sees it as it was raised. */
function refusal(error: WorkflowUpdateFailedError, conversationId: string): LongshoreError {
  const { cause } = error;
  if (!(cause instanceof ApplicationFailure)) return failure('INTERNAL', { problem: cause?.message ?? error.message }, error);
  if (cause.type === 'AcceptedUpdateCompletedWorkflow') return failure('CONVERSATION_CLOSED', { conversationId }, error);
  if (!isCode(cause.type)) return failure('INTERNAL', { problem: cause.message }, error);
  const values = (cause.details?.[0] ?? {}) as Record<string, string | number>;
  return new LongshoreError(cause.type, values, { cause: error });
}

function isCode(type: string | null | undefined): type is ErrorCode {
  return typeof type === 'string' && Object.hasOwn(ERRORS, type);
}

function grpcStatus(error: unknown): GrpcStatus | undefined {
  const cause = error instanceof ServiceError ? error.cause : error;
  return isGrpcServiceError(cause) ? { code: cause.code, details: cause.details } : undefined;
}

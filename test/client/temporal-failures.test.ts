import { ServiceError, WorkflowUpdateFailedError, WorkflowUpdateRPCTimeoutOrCancelledError } from '@temporalio/client';
import { ApplicationFailure, NamespaceNotFoundError, WorkflowNotFoundError } from '@temporalio/common';
import { temporalFailure, type Absence } from '../../src/client/temporal/temporal-failures.ts';

const context = (why: () => Promise<Absence>) => ({ address: '127.0.0.1:7233', conversationId: 'conv_1', whyMissing: why });
const translate = (error: unknown, why: () => Promise<Absence> = async () => 'closed') => temporalFailure(error, context(why));

function grpc(code: number, details: string): ServiceError {
  return new ServiceError('failed', { cause: Object.assign(new Error(details), { code, details, metadata: {} }) });
}

test('a conversation without a running workflow is closed, has not started, or does not exist', async () => {
  const error = new WorkflowNotFoundError('workflow not found', 'conv_1', undefined);
  expect(await translate(error, async () => 'closed')).toMatchObject({ code: 'CONVERSATION_CLOSED', retryable: false });
  expect(await translate(error, async () => 'not-started')).toMatchObject({ code: 'CONVERSATION_UNSTARTED', retryable: true });
  expect(await translate(error, async () => 'unknown')).toMatchObject({ code: 'CONVERSATION_NOT_FOUND', retryable: false });
  const away = () => Promise.reject(grpc(14, 'connection refused'));
  expect(await translate(error, away)).toMatchObject({ code: 'TEMPORAL_UNAVAILABLE', values: { problem: 'connection refused' } });
});

test('a refusal of the workflow arrives as it was raised', async () => {
  const values = { conversationId: 'conv_1', turnId: 'turn_1' };
  const cause = ApplicationFailure.nonRetryable('busy', 'CONVERSATION_BUSY', values);
  const error = await translate(new WorkflowUpdateFailedError('failed', cause));
  expect(error).toMatchObject({ code: 'CONVERSATION_BUSY', values, retryable: true });
  expect(error.message).toContain('turn_1');
});

test.each([
  [
    'an update cut off by the end of the workflow',
    new WorkflowUpdateFailedError('', ApplicationFailure.nonRetryable('', 'AcceptedUpdateCompletedWorkflow')),
    'CONVERSATION_CLOSED',
  ],
  ['a refusal in codes that are not ours', new WorkflowUpdateFailedError('', ApplicationFailure.nonRetryable('odd', 'Odd')), 'INTERNAL'],
  ['an update without an answer', new WorkflowUpdateRPCTimeoutOrCancelledError('timeout'), 'NO_WORKER'],
  ['a workflow whose worker was killed', grpc(9, 'Unable to perform workflow execution update due to Workflow Task in failed state.'), 'NO_WORKER'],
  ['a workflow paused by Temporal itself', grpc(9, 'Workflow is paused'), 'CONVERSATION_SUSPENDED'],
  ['a missing search attribute', grpc(3, 'Namespace default has no mapping defined for search attribute AgentId'), 'CONFIG_INVALID'],
  ['a missing namespace', new NamespaceNotFoundError('other'), 'CONFIG_INVALID'],
  ['a server that is away', grpc(14, 'connection refused'), 'TEMPORAL_UNAVAILABLE'],
  ['anything else', new TypeError('oops'), 'INTERNAL'],
])('%s is translated', async (_name, error, code) => {
  expect(await translate(error)).toMatchObject({ code });
});

test('a missing namespace is named with the command that makes it', async () => {
  const { message } = await translate(new NamespaceNotFoundError('other'));
  expect(message).toBe(
    'TEMPORAL_NAMESPACE: the Temporal server at 127.0.0.1:7233 has no namespace "other". Name one that exists, or make this one: temporal operator namespace create --namespace other --address 127.0.0.1:7233',
  );
});

import type { Client } from '@temporalio/client';
import { defaultPayloadConverter, WorkflowNotFoundError } from '@temporalio/common';
import { createPayloadCodec } from './payload-codec.ts';
import type { TemporalLink } from './temporal.ts';
import { isAbsent } from './temporal-failures.ts';

interface Signal {
  workflowId: string;
  signalName: string;
  args: object;
  /** Temporal takes the signals of one run that have the same id for one signal; the workflow compares the ids of several runs. */
  requestId: string;
}

/** Sends a signal that may have been sent before. The SDK's own call gives each another id, and does not say it to the workflow. */
export async function signalOnce(client: Client, { keys }: Pick<TemporalLink, 'keys'>, { workflowId, signalName, args, requestId }: Signal): Promise<void> {
  const { namespace, identity } = client.options;
  const payloads = await createPayloadCodec(keys).encode([defaultPayloadConverter.toPayload({ ...args, requestId })]);
  try {
    await client.workflowService.signalWorkflowExecution({
      namespace,
      identity,
      workflowExecution: { workflowId },
      signalName,
      requestId,
      input: { payloads },
    });
  } catch (error) {
    throw isAbsent(error) ? new WorkflowNotFoundError('no such workflow', workflowId, undefined) : error;
  }
}

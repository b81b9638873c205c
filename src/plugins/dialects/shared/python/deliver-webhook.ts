import { z } from 'zod';
import { execOf } from '../../../../contracts/call-ids.ts';
import { isFailure } from '../../../../contracts/errors.ts';
import type { ServerAnswer } from '../../../../sandbox/api/host-methods.ts';
import type { WorkerHandle } from '../../../../sandbox/api/sandbox.ts';
import type { Delivered, WebhookDelivery, WebhookOutcome } from '../../../api/webhook-request.ts';
import type { Reached } from './reached.ts';

export const WEBHOOK_TIMEOUT_MS = 120_000;
/** JSON-RPC: the process has no such function. */
const NOT_THERE = -32602;
const LONGEST_PROBLEM = 1_000;
const answerSchema = z.object({ failed: z.string().optional() });
const NOT_KNOWN: WebhookOutcome = {
  outcome: 'failed',
  problem: 'the sandbox of the plugin, or its process, ended during the request, so it is not known whether it took effect',
};

type Answer = ServerAnswer | { outcome: 'not-known' | 'dropped' };

/**
 * Calls the function of a webhook in the sandbox of the tenant, once. The call is an exec named after the request, so another worker that delivers it too attaches
 * to it. Where the journal of an earlier attempt is gone, or says that the container died during it, the function is not called again.
 */
export async function deliverWebhook(reached: Reached, delivery: WebhookDelivery): Promise<Delivered> {
  const { own } = reached;
  const { requestId, tenantId, attempts, signal } = delivery;
  const execId = execOf(requestId, attempts + 1);
  const begun = { at: delivery.begunAt };
  const answer = await call(reached, delivery, execId, begun).catch(async (error: unknown) => {
    if (signal.aborted) throw error;
    // Its container may have died since it was used last. The journal says whether that was during this call.
    own.forget(tenantId);
    return call(reached, delivery, execId, begun);
  });
  const forget = async () => {
    const { handle } = await own.open(tenantId, false);
    await handle.forget(execId);
  };
  return { result: resultOf(answer), forget };
}

async function call({ own, server, settings }: Reached, delivery: WebhookDelivery, execId: string, begun: { at: Date | undefined }): Promise<Answer> {
  const { tenantId, endpoint, headers, body, signal } = delivery;
  const { handle } = await own.open(tenantId, false);
  if (begun.at) {
    const files = await own.find(tenantId);
    const since = [files?.createdAt ?? '', files?.filesLostAt ?? ''].toSorted().at(-1) ?? '';
    if (since > begun.at.toISOString() || (await isLost(handle, execId))) return { outcome: 'not-known' };
  }
  begun.at = await delivery.begin();
  if (!begun.at) return { outcome: 'dropped' };
  const params = { name: `webhook:${endpoint}`, arguments: { headers, body: body.toString('base64') }, ...settings() };
  const request = { method: 'tools/call', params };
  const options = { execId, timeoutMs: WEBHOOK_TIMEOUT_MS, signal };
  return handle.callServer(server(), request, options).catch((error: unknown) => {
    // An earlier attempt has called another version of the plugin.
    if (isFailure(error, 'EXEC_MISMATCH')) return handle.callServer(server(), request, { ...options, asStarted: true });
    throw error;
  });
}

async function isLost(handle: Pick<WorkerHandle, 'execs'>, execId: string): Promise<boolean> {
  return (await handle.execs()).some((exec) => exec.execId === execId && exec.state === 'lost');
}

function resultOf(answer: Answer): WebhookOutcome {
  switch (answer.outcome) {
    case 'answered': {
      const parsed = answerSchema.safeParse(answer.result);
      const failed = parsed.success ? parsed.data.failed : 'its answer is not usable; the plugin may have written to the connection of its host';
      return failed === undefined ? { outcome: 'delivered' } : failure(failed);
    }
    case 'refused':
      return answer.code === NOT_THERE ? failure(answer.message) : { outcome: 'postponed', problem: shortened(answer.message) };
    case 'absent':
      return { outcome: 'postponed', problem: shortened(`the plugin cannot be started: ${answer.why}`) };
    case 'timeout':
      return failure(`it took longer than ${WEBHOOK_TIMEOUT_MS} ms, and the plugin was told to stop it`);
    case 'killed':
      return failure('it was ended from outside');
    case 'dropped':
      return { outcome: 'dropped' };
    default:
      return NOT_KNOWN;
  }
}

function failure(problem: string): WebhookOutcome {
  return { outcome: 'failed', problem: shortened(problem) };
}

function shortened(problem: string): string {
  return problem.slice(0, LONGEST_PROBLEM);
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import { anySignal } from '../../common/any-signal.ts';
import type { Agent } from '../../contracts/agent.ts';
import { failure, isFailure } from '../../contracts/errors.ts';
import type { Logger } from '../../platform/log.ts';
import type { Sandboxes } from '../../sandbox/api/host-sandboxes.ts';
import { checkVisit } from '../../sandbox/visits/held.ts';
import type { SandboxRow } from '../../store/sandbox-rows.ts';
import type { Store } from '../../store/store.ts';
import { REQUEST, type ChannelRequest } from '../channel/calls.ts';
import { readMessages, type Message } from '../channel/messages.ts';
import { createSender } from '../channel/sender.ts';
import { operate } from './operations.ts';
import { unpackSandbox } from './unpack-sandbox.ts';
import type { Visits } from './visits.ts';

export interface AnswerParts {
  store: Pick<Store, 'conversations' | 'imports' | 'sandboxes'>;
  sandboxes: Pick<Sandboxes, 'unpack'>;
  agents: ReadonlyMap<string, Agent>;
  visits: Visits;
  log: Logger;
  /** Aborts when the worker begins to end. */
  stopping: AbortSignal;
  /** Aborts when the worker ends its calls. */
  closing: AbortSignal;
}

/** Answers one call of the service: what went wrong is the last message. */
export async function answerCall(parts: AnswerParts, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  response.writeHead(200, { 'content-type': 'application/octet-stream' }).flushHeaders();
  const sender = createSender(response);
  const signal = anySignal([gone.signal, parts.closing]);
  try {
    const incoming = readMessages(request);
    const asked = requestOf(await incoming.next());
    const { call, sandboxId } = asked;
    if (call.do === 'sandboxes.unpack') await unpackSandbox(parts, { ...asked, ...call }, { incoming, sender });
    else {
      const wire = { incoming, sender, signal, stopping: parts.stopping };
      await parts.visits.visit(
        sandboxId,
        () => findVisited(parts.store, asked),
        (handle) => operate(handle, call, wire),
      );
    }
    sender.end();
  } catch (error) {
    if (!isFailure(error) && !gone.signal.aborted) parts.log.warn({ err: error }, 'a call of the service failed');
    sender.fail(error);
  }
}

function requestOf({ value }: IteratorResult<Message, void>): ChannelRequest {
  const parsed = REQUEST.safeParse(value?.kind === 'json' ? value.value : undefined);
  if (parsed.success) return parsed.data;
  const problem = `the worker does not know this call (${parsed.error.issues[0]?.message}); the service may have another version`;
  throw failure('INTERNAL', { problem });
}

/** The service has checked its caller. What it asks for is compared again, so that a fault there reaches no other tenant's sandbox. */
async function findVisited(store: AnswerParts['store'], { sandboxId, tenantId, conversationId }: ChannelRequest): Promise<SandboxRow> {
  const row = await store.sandboxes.get(sandboxId);
  if (!row || row.tenantId !== tenantId || row.conversationId !== conversationId) throw failure('SANDBOX_NOT_FOUND', { sandboxId });
  await checkVisit({ store }, row, { force: false, fix: `Resume it: POST /v1/conversations/${conversationId}/resume` });
  return row;
}

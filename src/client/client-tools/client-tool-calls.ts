import { createHash } from 'node:crypto';
import { DEFAULT_LEASE_MS, type ClaimedCall, type ClientCall } from '../../contracts/client-tool.ts';
import { failure, isFailure } from '../../contracts/errors.ts';
import type { Json } from '../../contracts/json.ts';
import { createCompiler } from '../../plugins/schemas/validate-arguments.ts';
import type { ClientCallRow } from '../../store/service/client-calls.ts';
import type { Store } from '../../store/store.ts';
import type { ClientToolCalls } from './client-tool-types.ts';
import { resultText } from './result-text.ts';

interface Parts {
  store: Pick<Store, 'clientCalls'>;
  /** Tells the conversation that a client has answered. */
  tell: (conversationId: string, callId: string) => Promise<void>;
}

const compile = createCompiler();

/** The calls that wait for clients, in the database. The conversation learns only that there is a result. */
export function createClientToolCalls({ store: { clientCalls }, tell }: Parts): ClientToolCalls {
  const find = async (conversationId: string, callId: string): Promise<ClientCallRow> => {
    const call = await clientCalls.get(conversationId, callId);
    if (!call) throw failure('CLIENT_CALL_NOT_FOUND', { callId, conversationId });
    return call;
  };
  /** Why a change was not made; undefined when it may be tried again, since what prevented it has passed. */
  const refusal = (call: ClientCallRow, holder: string | undefined): Error | undefined => {
    const { callId, heldUntil } = call;
    if (!call.isOpen) return failure('CLIENT_CALL_ENDED', { callId });
    return call.isHeld && call.holder !== holder ? failure('CLIENT_CALL_TAKEN', { callId, until: heldUntil?.toISOString() ?? '' }) : undefined;
  };
  /** The result came before: the conversation is told again, since it may not have been. */
  const repeated = async ({ conversationId, callId, state, digest }: ClientCallRow, given: Buffer): Promise<void> => {
    if (!digest?.equals(given)) throw failure('CLIENT_RESULT_DIFFERENT', { callId });
    if (state === 'answered') await tellIfOpen(conversationId, callId);
  };
  const tellIfOpen = (conversationId: string, callId: string) =>
    tell(conversationId, callId).catch((error: unknown) => {
      if (!isFailure(error, 'CONVERSATION_CLOSED')) throw error;
    });
  return {
    async waitingCalls(conversationId) {
      const found = await clientCalls.waiting(conversationId);
      if (!found) throw failure('CONVERSATION_NOT_FOUND', { conversationId });
      return { calls: found.calls.map(shown), seq: found.seq };
    },
    async claimCall(conversationId, { callId, holder, leaseMs = DEFAULT_LEASE_MS }) {
      // The id alone says nothing of the conversation.
      await find(conversationId, callId);
      const change = () => (leaseMs === 0 ? clientCalls.release(callId, holder) : clientCalls.claim(callId, holder, leaseMs));
      while (!(await change())) {
        const refused = refusal(await find(conversationId, callId), holder);
        if (refused) throw refused;
      }
      return claimed(await find(conversationId, callId));
    },
    async giveResult(conversationId, { callId, result, isError = false, holder }) {
      const digest = createHash('sha256')
        .update(resultText(callId, result, isError))
        .digest();
      const before = await find(conversationId, callId);
      if (before.digest) return repeated(before, digest);
      if (!isError) await checkResult(before, result);
      while (!(await clientCalls.answer(callId, holder, { result, isError, digest }))) {
        const now = await find(conversationId, callId);
        if (now.digest) return repeated(now, digest);
        const refused = refusal(now, holder);
        if (refused) throw refused;
      }
      await tellIfOpen(conversationId, callId);
    },
  };
}

/** @throws CLIENT_RESULT_INVALID */
async function checkResult({ callId, name, output }: ClientCallRow, result: Json): Promise<void> {
  const problems = output === undefined ? [] : await compile('client', name, 'result', output)(result);
  if (problems.length > 0) throw failure('CLIENT_RESULT_INVALID', { callId, problems: problems.join('; ') });
}

function shown({ callId, name, askedAt, deadline, heldUntil, isHeld }: ClientCallRow): ClientCall {
  return {
    callId,
    name,
    askedAt: askedAt.toISOString(),
    ...(deadline && { deadline: deadline.toISOString() }),
    ...(isHeld && heldUntil && { heldUntil: heldUntil.toISOString() }),
  };
}

function claimed(call: ClientCallRow): ClaimedCall {
  return { ...shown(call), arguments: call.arguments };
}

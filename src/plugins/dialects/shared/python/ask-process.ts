import { isFailure } from '../../../../contracts/errors.ts';
import type { JsonObject } from '../../../../contracts/json.ts';
import type { ServerAnswer } from '../../../../sandbox/api/host-methods.ts';
import type { MethodCall } from '../../../../sandbox/api/methods.ts';
import type { WorkerHandle } from '../../../../sandbox/api/sandbox.ts';
import type { Reached } from './reached.ts';

interface Asked {
  result: JsonObject;
  /** Removes what is kept of the question. */
  forget: () => Promise<void>;
}

interface Options {
  /** Names the question. */
  execId: string;
  timeoutMs: number;
  /** Follows what the process asks meanwhile. */
  answering?: (handle: WorkerHandle) => (call: MethodCall) => void;
}

/** Asks the process of a plugin something beside calls of its tools: what takes part in a step. @throws Error with the reason when it does not answer */
export async function askProcess(reached: Reached, tenantId: string, params: JsonObject, options: Options): Promise<Asked> {
  const asked = await ask(reached, tenantId, params, options).catch(() => {
    // Its container may have died since it was used last. Another one is made, and the question is repeated: it has no effect that counts.
    reached.own.forget(tenantId);
    return ask(reached, tenantId, params, options);
  });
  const { answer, handle } = asked;
  const forget = () => handle.forget(options.execId).catch(() => undefined);
  if (answer.outcome === 'answered') return { result: answer.result, forget };
  await forget();
  throw new Error(problemOf(answer, options));
}

async function ask({ own, server, settings }: Reached, tenantId: string, params: JsonObject, { execId, timeoutMs, answering }: Options) {
  const { handle } = await own.open(tenantId, false);
  // An earlier attempt may have begun the question, and a worker may have been about to answer.
  const asking = answering && { hasChannel: true, isBegun: true, onMethodCall: answering(handle) };
  const request = { method: 'tools/call', params: { ...params, ...settings() } };
  const given = { execId, timeoutMs, ...asking };
  const answer = await handle.callServer(server(), request, given).catch((error: unknown) => {
    // An earlier attempt has asked another version of the plugin.
    if (isFailure(error, 'EXEC_MISMATCH')) return handle.callServer(server(), request, { ...given, asStarted: true });
    throw error;
  });
  return { answer, handle: handle as Pick<WorkerHandle, 'forget'> };
}

function problemOf(answer: Exclude<ServerAnswer, { outcome: 'answered' }>, { timeoutMs }: Options): string {
  if (answer.outcome === 'refused') return answer.message;
  return 'why' in answer ? `its process does not answer: ${answer.why}` : `its process did not answer within ${timeoutMs} ms`;
}

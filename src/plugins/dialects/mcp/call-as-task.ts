import { ProtocolError } from '@modelcontextprotocol/client';
import { z } from 'zod';
import { pause } from '../../../common/pause.ts';
import { isFailure } from '../../../contracts/errors.ts';
import type { JsonObject } from '../../../contracts/json.ts';
import { MAX_QUESTION_MS } from '../../../contracts/questions/question.ts';
import { cutMiddle, visibleLine } from '../../../contracts/visible-text.ts';
import type { ServerRequest } from '../../../sandbox/api/host-methods.ts';
import type { PluginStore, ToolContext } from '../../api/define-plugin.ts';

interface Parts {
  /** Name of the server. */
  name: string;
  context: ToolContext;
  timeoutMs: number;
  /** Sends the request that begins the task: once. */
  begin: (request: ServerRequest) => Promise<JsonObject>;
  /** Sends a request that may be repeated. */
  persist: (request: ServerRequest) => Promise<JsonObject>;
  /** Sends a request after the end of the call. */
  cancel: (request: ServerRequest) => Promise<JsonObject>;
}

const BEGUN = z.looseObject({ task: z.looseObject({ taskId: z.string().min(1).max(1_000) }) });
const STATE = z.looseObject({ status: z.string(), statusMessage: z.string().optional(), pollInterval: z.number().optional() });
const KEPT = z.object({ taskId: z.string() });
const POLL_MS = 1_000;
const [SHORTEST_POLL_MS, LONGEST_POLL_MS] = [100, 30_000];
const LONGEST_STATUS = 200;

/** The same request, as one that begins a task. A task lives for as long as its call may take, with the time in which a person is asked. */
export function asTask({ method, params }: ServerRequest, timeoutMs: number): ServerRequest {
  return { method, params: { ...params, task: { ttl: timeoutMs + MAX_QUESTION_MS } } };
}

/** The id of the task that a request has begun; undefined when the server has answered at once. */
export function taskIn(begun: JsonObject): string | undefined {
  return BEGUN.safeParse(begun).data?.task.taskId;
}

/** Whether an earlier attempt at the call has begun a task, which another attempt can follow. */
export async function isTask(store: PluginStore, callId: string): Promise<boolean> {
  return (await store.entry(keyOf(callId))) !== undefined;
}

/**
 * Makes a call as a task of its server. The id of the task is stored, so that the next attempt at the call, on any worker, follows the task in place of making
 * the call again. The task is cancelled when the call is ended, and not when its worker is.
 */
export async function callAsTask(request: ServerRequest, parts: Parts): Promise<JsonObject> {
  const { begin, context, timeoutMs } = parts;
  const { store, callId, logger, signal } = context;
  const kept = KEPT.safeParse(await store.get(keyOf(callId))).data?.taskId;
  const begun = kept === undefined ? await begin(asTask(request, timeoutMs)) : {};
  const taskId = kept ?? taskIn(begun);
  if (taskId === undefined) return begun;
  if (kept === undefined) {
    // Without this the call is lost with its worker, as others are.
    const ttlMs = timeoutMs + MAX_QUESTION_MS;
    await store.set(keyOf(callId), { taskId }, { ttlMs }).catch((error: Error) => logger.warn(`the id of a task could not be stored: ${error.message}`));
  }
  try {
    const result = await follow(taskId, parts, kept !== undefined);
    // The result counts also where the id stays for a while.
    await store.delete(keyOf(callId)).catch((error: Error) => logger.warn(`the id of a task could not be removed: ${error.message}`));
    return result;
  } catch (error) {
    if (signal.aborted && isFailure(signal.reason, 'INTERRUPTED')) await cancel(taskId, parts);
    throw error;
  }
}

async function follow(taskId: string, { name, context, persist }: Parts, isAgain: boolean): Promise<JsonObject> {
  const { signal, heartbeat } = context;
  try {
    for (;;) {
      const { status, statusMessage, pollInterval = POLL_MS } = STATE.parse(await persist({ method: 'tasks/get', params: { taskId } }));
      // A task that needs input asks while its result is waited for.
      if (status !== 'working') return await persist({ method: 'tasks/result', params: { taskId } });
      heartbeat(cutMiddle(visibleLine(statusMessage ?? 'the task is working'), LONGEST_STATUS));
      await pause(Math.min(LONGEST_POLL_MS, Math.max(SHORTEST_POLL_MS, pollInterval)), signal);
      if (signal.aborted) throw signal.reason;
    }
  } catch (error) {
    if (!isAgain || !(error instanceof ProtocolError)) throw error;
    throw new Error(
      `the worker of this call died, and the MCP server ${name} does not tell what its task has done (${error.message}): it is not known whether the call took effect`,
      { cause: error },
    );
  }
}

async function cancel(taskId: string, { cancel: send, context: { logger } }: Parts): Promise<void> {
  try {
    await send({ method: 'tasks/cancel', params: { taskId } });
  } catch (error) {
    logger.warn(`a task could not be cancelled: ${(error as Error).message}`);
  }
}

function keyOf(callId: string): string {
  return `task ${callId}`;
}

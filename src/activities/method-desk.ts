import type { ExecuteToolArgs, ExecuteToolResult, ProposedCall } from '../contracts/activities.ts';
import type { Agent } from '../contracts/agent.ts';
import { isFailure } from '../contracts/errors.ts';
import type { Logger } from '../log.ts';
import { judgeCalls } from '../plugins/judge-calls.ts';
import type { Registry } from '../plugins/registry.ts';
import type { MethodCall, SandboxHandle } from '../sandbox/sandbox.ts';
import type { Store, ToolCallRow } from '../store/store.ts';
import { deferred } from './deferred.ts';
import { describeTools, LIST_TOOLS } from './describe-tools.ts';
import { answerOf, methodCallId, methodDepth, refusal } from './method-answer.ts';
import { createSettleCall } from './settle-call.ts';
import type { RunOutcome } from './tool-run.ts';

/** Takes the calls of tools that the code of one tool call makes, while this worker is attached to it. */
export interface MethodDesk extends Disposable {
  take(handle: SandboxHandle, call: MethodCall): void;
  /** The code has given a sign of life. */
  stir(): void;
  /** Resolves when the workflow has to go on: with calls that are new to it, or because all the code does is wait. */
  suspended: Promise<RunOutcome>;
}

export interface DeskParts {
  args: ExecuteToolArgs;
  store: Store;
  registry: Registry;
  agents: ReadonlyMap<string, Agent>;
  log: Logger;
  /** Runs a call within this attempt. Absent where that itself is done within another: there is nobody who could wait for the workflow. */
  runAtOnce?: (args: ExecuteToolArgs) => Promise<ExecuteToolResult>;
}

interface OpenCall {
  handle: SandboxHandle;
  call: MethodCall;
  callId: string;
}

const MAX_DEPTH = 3;
const MAX_DURABLE = 1000;
/** Milliseconds without output or calls after which code that has open calls counts as waiting. */
const QUIET_MS = 400;
const FIRST_LOOK_MS = 5;
const LAST_LOOK_MS = 200;

/**
 * What only reads and needs no approval is run and answered at once. Everything else is noted in the ledger and handed to the workflow, which runs
 * it like a call of the model's; its result is delivered by whoever is attached then. The numbers of the calls make all of it repeatable.
 */
export function createMethodDesk(parts: DeskParts): MethodDesk {
  const { args, store, registry, log } = parts;
  const suspended = deferred<RunOutcome>();
  const known = new Set(args.openMethods);
  const fresh: ProposedCall[] = [];
  const open = new Map<string, OpenCall>();
  let working = 0;
  let stirredAt = performance.now();
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  return {
    suspended: suspended.promise,
    take(handle, call) {
      stir();
      void work(() => serve({ handle, call, callId: methodCallId(call.execId, call.number) }));
    },
    stir,
    [Symbol.dispose]() {
      closed = true;
      clearTimeout(timer);
    },
  };

  function stir(): void {
    stirredAt = performance.now();
  }

  async function work(task: () => Promise<void>): Promise<void> {
    working += 1;
    try {
      await task();
    } catch (error) {
      // An exec that cannot be reached is the affair of whoever follows it.
      if (isFailure(error) && (error.code.startsWith('SANDBOX_') || error.code.startsWith('DOCKER_') || error.code === 'EXEC_NOT_FOUND')) {
        log.debug({ err: error, callId: args.callId }, 'a call of code could not be answered');
      } else suspended.resolve({ outcome: 'later', error });
    } finally {
      working -= 1;
    }
    if (working === 0 && fresh.length > 0) suspended.resolve({ outcome: 'suspended', calls: fresh });
  }

  async function serve(one: OpenCall): Promise<void> {
    const { handle, call, callId } = one;
    const agent = parts.agents.get(args.agentId);
    const answer = (code: string, message: string) => handle.answerMethod(call.execId, call.number, refusal(code, message));
    if (!agent) return answer('TOOL_NOT_FOUND', `Agent "${args.agentId}" is not known here.`);
    if (call.tool === LIST_TOOLS) return handle.answerMethod(call.execId, call.number, { ok: describeTools(registry.forAgent(agent)) });
    if (methodDepth(callId) > MAX_DEPTH) return answer('TOO_DEEP', `Code that is called by code may itself call tools ${MAX_DEPTH} levels deep, not deeper.`);
    const row = call.repeated ? await store.toolCalls.get(callId) : undefined;
    if (row?.content) return deliver(one, row);
    const judged = judgeCalls({ registry, agent, calls: [{ callId, tool: call.tool, arguments: row?.arguments ?? call.arguments }] });
    const [proposed] = judged.proposed;
    if (!proposed || proposed.decision === 'invalid') {
      return answer(registry.get(call.tool) ? 'TOOL_ARGUMENTS_INVALID' : 'TOOL_NOT_FOUND', proposed?.why ?? '');
    }
    if (proposed.decision === 'deny') return deny(one, proposed);
    if (proposed.decision === 'allow' && proposed.readOnly) return runAtOnce(one, proposed);
    return handOver(one, proposed, row);
  }

  async function deny(one: OpenCall, proposed: ProposedCall): Promise<void> {
    const { callId, tool, why } = proposed;
    await propose(one, proposed);
    await createSettleCall({ store })({ ...args, callId, tool, settlement: 'denied', message: `Denied by policy: ${why}` });
    await deliverStored(one);
  }

  async function runAtOnce(one: OpenCall, proposed: ProposedCall): Promise<void> {
    if (!parts.runAtOnce) return handOver(one, proposed, undefined);
    await propose(one, proposed);
    const { callId, tool, hash, timeoutMs, needsSandbox } = proposed;
    const { openMethods: _, ...same } = args;
    await parts.runAtOnce({ ...same, callId, tool, hash, timeoutMs, needsSandbox });
    await deliverStored(one);
  }

  /** From here on the time that the call takes is not the code's. */
  async function handOver(one: OpenCall, proposed: ProposedCall, row: ToolCallRow | undefined): Promise<void> {
    const { handle, call, callId } = one;
    const refuse = (code: string, message: string) => handle.answerMethod(call.execId, call.number, refusal(code, message));
    if (!parts.runAtOnce) return refuse('NOT_ALLOWED', `${proposed.tool} cannot be called by the code of a tool that only reads.`);
    if ((await handle.holdMethod(call.execId, call.number)) > MAX_DURABLE) {
      return refuse('TOO_MANY', `This code has made ${MAX_DURABLE} calls that change something or need an approval; more are not taken.`);
    }
    if (!row) await propose(one, proposed);
    if (known.has(callId)) watch(one);
    else fresh.push(proposed);
  }

  async function propose({ call, callId }: OpenCall, { tool, hash, decision }: ProposedCall): Promise<void> {
    const { conversationId, turnId, stepId, callId: parentCallId } = args;
    const row = { callId, conversationId, turnId, stepId, number: call.number, tool, arguments: call.arguments, hash, parentCallId };
    const data = { callId, tool, arguments: call.arguments, decision, parentCallId };
    await store.toolCalls.proposeMethod(row, [{ type: 'tool.requested', turnId, stepId, data }]);
  }

  async function deliverStored(one: OpenCall): Promise<boolean> {
    const row = await store.toolCalls.get(one.callId);
    if (!row?.content) return false;
    await deliver(one, row);
    return true;
  }

  /** An agent's answer is for the model: the code ends at the call. */
  async function deliver({ handle, call }: OpenCall, row: ToolCallRow): Promise<void> {
    stir();
    const kind = registry.get(row.tool)?.kind;
    const concludes = (kind === 'agent' || kind === 'multimodal_agent') && row.state === 'finished' && !row.isError;
    if (concludes) await handle.concludeAt(call.execId, call.number);
    else await handle.answerMethod(call.execId, call.number, answerOf(row));
  }

  /** The workflow looks after the call; its result may come while we are attached. */
  function watch(one: OpenCall): void {
    open.set(one.callId, one);
    if (timer === undefined) lookAfter(FIRST_LOOK_MS);
  }

  function lookAfter(milliseconds: number): void {
    if (closed) return;
    timer = setTimeout(() => void work(() => look(milliseconds)), milliseconds);
  }

  async function look(waited: number): Promise<void> {
    for (const [callId, one] of open) if (await deliverStored(one)) open.delete(callId);
    timer = undefined;
    if (open.size === 0) return;
    // This look itself is the one piece of work.
    if (working === 1 && fresh.length === 0 && performance.now() - stirredAt > QUIET_MS) suspended.resolve({ outcome: 'suspended', calls: [] });
    else lookAfter(Math.min(LAST_LOOK_MS, waited * 1.5));
  }
}

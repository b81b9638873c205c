import { pause } from '../../common/pause.ts';
import type { ProposedCall } from '../../contracts/activities.ts';
import { callOfCode } from '../../contracts/call-ids.ts';
import { isFailure } from '../../contracts/errors.ts';
import type { Asking } from '../../contracts/mcp/server.ts';
import type { RegisteredTool } from '../../plugins/registry/registry.ts';
import type { MethodAnswer, MethodCall } from '../../sandbox/api/methods.ts';
import type { WorkerHandle } from '../../sandbox/api/sandbox.ts';
import { inTimeOr } from '../../common/in-time.ts';
import { withinInline } from '../../common/calls/inline-arguments.ts';
import { deferred } from '../../common/deferred.ts';
import { AnswersAhead } from './methods/answers-ahead.ts';
import type { StoredResult } from './methods/awaited-results.ts';
import type { DeskParts } from './methods/desk-parts.ts';
import type { Within } from './methods/within.ts';
import { judgeMethod, type MethodVerdict } from './judge-method.ts';
import { searchableTools } from '../offer/offer-tools.ts';
import { isQuestion, type QuestionAnswer } from '../../contracts/questions/question.ts';
import { answerIn } from '../questions/propose-question.ts';
import { answerToServer, comesFrom, takeQuestion, type OpenCall } from '../questions/question-in-sandbox.ts';
import { answerOf, noRoom, refusedAnswer } from '../results/method-answer.ts';
import { shownArguments } from '../results/shown-arguments.ts';
import { createSettleCall } from '../results/settle-call.ts';
import type { RunOutcome } from './tool-run-outcome.ts';

type Judged = Extract<MethodVerdict, { proposed: ProposedCall }>;

/** One reason for all attempts: creating it takes a stack trace. */
const OVER = new DOMException('The attempt at the call has ended', 'AbortError');
const MAX_DURABLE = 1000;
/** Milliseconds without output or calls after which code with open calls counts as waiting. */
const QUIET_MS = 400;
/** For calls that are told to end. */
const END_LIMIT_MS = 10_000;
const FIRST_LOOK_MS = 5;
const LAST_LOOK_MS = 200;
/**
 * An interruption of a call ends its code too. Without this delay, the code could react to the interrupted call first and end normally. Only code that is still
 * alive after it gets the answer.
 */
const INTERRUPTION_GRACE_MS = 10_000;

/**
 * Takes the calls of tools that the code of one tool call makes, while this worker is attached to it. A call that only reads and needs no approval is run
 * and answered at once. Every other call is stored in the ledger and handed to the workflow, which runs it like a call of the model; the worker that is
 * attached at that time delivers its result. The numbers of the calls make all of it repeatable.
 */
export class MethodDesk implements Disposable {
  private readonly parts: DeskParts;
  private readonly outcome = deferred<RunOutcome>();
  private readonly known: Set<string>;
  /** Calls that the workflow does not know of yet. */
  private readonly fresh: ProposedCall[] = [];
  /** Calls that the workflow owns, whose results may arrive while this worker is attached. */
  private readonly open = new Map<string, OpenCall>();
  /** The tools that the conversation may use; read once, with the first call. */
  private available: Promise<RegisteredTool[]> | undefined;
  private working = 0;
  private readonly quiet = deferred<void>();
  private stirredAt = performance.now();
  private timer: NodeJS.Timeout | undefined;
  private readonly closed = new AbortController();
  private readonly ahead = new AnswersAhead();
  private readonly hostOf: ReturnType<DeskParts['hosts']>;

  constructor(parts: DeskParts) {
    this.parts = parts;
    this.hostOf = parts.hosts(this.closed.signal);
    this.known = new Set(parts.args.openMethods);
  }

  /** Resolves when the workflow has to continue: with calls that are new to it, or because the code only waits. */
  get suspended(): Promise<RunOutcome> {
    return this.outcome.promise;
  }

  take(handle: WorkerHandle, call: MethodCall): void {
    this.stir();
    void this.work(() => this.serve({ handle, call, callId: callOfCode(call.execId, call.number) }));
  }

  /** Takes a question of an MCP server. Anything else that comes in its name is refused. */
  ask(asking: Asking, handle: WorkerHandle, call: MethodCall): void {
    void this.work(() => this.serveQuestion({ handle, call, callId: callOfCode(call.execId, call.number) }, asking));
  }

  /** Resolves when no answer is ahead of the ledger. */
  stored(): Promise<void> {
    return this.ahead.settled();
  }

  /** Ends the calls that run within this attempt, whose code has ended. Nothing of them is stored any more when it resolves. */
  async end(): Promise<void> {
    this[Symbol.dispose]();
    if (this.working > 0) await inTimeOr(this.quiet.promise, END_LIMIT_MS, undefined);
  }

  /** Records that the code is active. */
  stir(): void {
    this.stirredAt = performance.now();
  }

  [Symbol.dispose](): void {
    this.closed.abort(OVER);
    clearTimeout(this.timer);
    for (const callId of this.open.keys()) this.letGo(callId);
  }

  private async work(task: () => Promise<void>): Promise<void> {
    if (this.closed.signal.aborted) return;
    this.working += 1;
    try {
      await task();
    } catch (error) {
      this.fail(error);
    } finally {
      this.working -= 1;
    }
    if (this.working === 0 && this.closed.signal.aborted) this.quiet.resolve();
    if (this.working === 0 && this.fresh.length > 0) this.outcome.resolve({ outcome: 'suspended', calls: withinInline(this.fresh) });
  }

  /** The code that follows the exec handles an exec that cannot be reached; any other error is retried later. */
  private fail(error: unknown): void {
    const isOfSandbox = isFailure(error) && /^(SANDBOX_(?!SUPERSEDED)|DOCKER_|EXEC_NOT_FOUND)/.test(error.code);
    if (isOfSandbox) this.parts.log.debug({ err: error, callId: this.parts.args.callId }, 'a call of code could not be answered');
    else this.outcome.resolve({ outcome: 'later', error });
  }

  private async serve(one: OpenCall): Promise<void> {
    const { call, callId } = one;
    const row = call.repeated ? await this.parts.store.toolCalls.get(callId) : undefined;
    if (row?.content) return this.deliver(one, row);
    // A call that the workflow has begun is not judged again: a person may have changed the arguments since.
    if (row && this.known.has(callId)) return this.watch(one);
    const verdict = await judgeMethod({ ...this.parts, available: await this.tools() }, callId, call, row);
    switch (verdict.next) {
      case 'answer':
        return answer(one, verdict.answer);
      case 'deny':
        return this.deny(one, verdict);
      case 'at-once':
        return this.runAtOnce(one, verdict);
      case 'durable':
        return this.handOver(one, verdict);
    }
  }

  private async serveQuestion(one: OpenCall, asking: Asking): Promise<void> {
    const row = one.call.repeated ? await this.parts.store.toolCalls.get(one.callId) : undefined;
    if (row?.content) return this.deliver(one, row);
    if (row && this.known.has(one.callId)) return this.watch(one);
    // The code of a call that runs within another cannot wait for the workflow.
    const next = await takeQuestion(one, asking, { ...this.parts, mayWait: this.parts.runAtOnce !== undefined });
    if ('refused' in next) return answer(one, next.refused);
    if ('given' in next) return this.conclude(one, next.given);
    this.fresh.push(next.proposed);
  }

  private async conclude(one: OpenCall, given: QuestionAnswer): Promise<void> {
    const told = await answerToServer(one.call, given, this.hostOf(one.call.number));
    // A question to the model that this attempt did not finish is asked again by the next one.
    if (!this.closed.signal.aborted) await answer(one, told);
  }

  /** The tools as they are now: a plugin may have been reloaded or disabled since the list was read. */
  private async tools(): Promise<RegisteredTool[]> {
    this.available ??= searchableTools(this.parts, this.parts.args);
    return (await this.available).flatMap(({ id }) => this.parts.registry.get(id) ?? []);
  }

  private async deny(one: OpenCall, judged: Judged): Promise<void> {
    const { args, store } = this.parts;
    const { callId, tool, why } = judged.proposed;
    if (!(await this.propose(one, judged))) return answer(one, noRoom(args));
    await createSettleCall({ store })({ ...args, callId, tool, settlement: 'denied', message: `Denied by policy: ${why}` });
    await this.deliverStored(one);
  }

  private async runAtOnce(one: OpenCall, judged: Judged): Promise<void> {
    const { args, runAtOnce } = this.parts;
    if (!runAtOnce) return this.handOver(one, judged);
    const { callId, tool, hash, timeoutMs, needsSandbox } = judged.proposed;
    const { openMethods: _, ...same } = args;
    const attempt = (hooks: Pick<Within, 'onResult' | 'onStored'>) =>
      runAtOnce(
        { ...same, callId, tool, hash, timeoutMs, needsSandbox },
        { ...this.proposalOf(one, judged), mayBeLate: !one.call.repeated && !this.ahead.hasFailed, signal: this.closed.signal, ...hooks },
      );
    try {
      const end = await this.ahead.run(attempt, (result) => this.work(() => this.deliver(one, { ...result, tool })));
      if (end === 'answered') return undefined;
      return await (end ? this.deliver(one, { ...end, tool }) : this.deliverStored(one));
    } catch (error) {
      if (isFailure(error, 'STORAGE_EXHAUSTED')) return answer(one, noRoom(args));
      throw error;
    }
  }

  /** From here on, the time that the call takes does not count as the code's time. */
  private async handOver(one: OpenCall, judged: Judged): Promise<void> {
    const { handle, call } = one;
    if (!this.parts.runAtOnce)
      return answer(one, refusedAnswer('NOT_ALLOWED', `${judged.proposed.tool} cannot be called by the code of a tool that only reads.`));
    const held = handle.holdMethod(call.execId, call.number);
    // One of the first calls is within the limit, so it is stored at the same time.
    if (call.number > MAX_DURABLE && (await held) > MAX_DURABLE) {
      const message = `This code has made ${MAX_DURABLE} calls that change something or need an approval, which is the limit; further ones are refused.`;
      return answer(one, refusedAnswer('TOO_MANY', message));
    }
    const [hasRoom] = await Promise.all([this.propose(one, judged), held]);
    if (!hasRoom) return answer(one, noRoom(this.parts.args));
    this.fresh.push(judged.proposed);
  }

  private watch(one: OpenCall): void {
    this.open.set(one.callId, one);
    this.parts.awaited.set(one.callId, (result) => {
      if (this.letGo(one.callId)) void this.work(() => this.deliver(one, result));
    });
    if (this.timer === undefined) this.lookAfter(FIRST_LOOK_MS);
  }

  /** Stops waiting for the call. Returns false when it was not waited for. */
  private letGo(callId: string): boolean {
    this.parts.awaited.delete(callId);
    return this.open.delete(callId);
  }

  /** False when the conversation has used its storage. */
  private propose(one: OpenCall, judged: Judged): Promise<boolean> {
    const { proposal, requested } = this.proposalOf(one, judged);
    return this.parts.store.toolCalls.proposeMethod(proposal, [requested], this.parts.args.storageLimit);
  }

  private proposalOf({ call, callId, handle }: OpenCall, { proposed, accepted }: Judged): Pick<Within, 'proposal' | 'requested'> {
    const { conversationId, turnId, stepId, callId: parentCallId } = this.parts.args;
    const { tool, hash, decision, why } = proposed;
    const proposal = { callId, conversationId, turnId, stepId, number: call.number, tool, arguments: accepted, hash, parentCallId, ...comesFrom(handle) };
    const data = { callId, tool, ...shownArguments(accepted), decision, why, parentCallId };
    return { proposal, requested: { type: 'tool.requested', turnId, stepId, data } };
  }

  private async deliverStored(one: OpenCall): Promise<void> {
    const row = await this.parts.store.toolCalls.get(one.callId);
    if (row?.content) await this.deliver(one, row);
  }

  /** Delivers a result to the code. An agent's answer is for the model: the code ends at that call. */
  private async deliver(one: OpenCall, row: StoredResult): Promise<void> {
    if (isQuestion(row.tool)) return this.deliverAnswer(one);
    if (row.state === 'interrupted') await pause(INTERRUPTION_GRACE_MS, this.closed.signal);
    if (this.closed.signal.aborted) return;
    this.stir();
    const kind = this.parts.registry.get(row.tool)?.kind;
    const concludes = (kind === 'agent' || kind === 'multimodal_agent') && row.state === 'finished' && !row.isError;
    if (concludes) await one.handle.concludeAt(one.call.execId, one.call.number);
    else await answer(one, answerOf(row));
  }

  private async deliverAnswer(one: OpenCall): Promise<void> {
    const row = await this.parts.store.toolCalls.get(one.callId);
    const given = row && answerIn(row);
    if (given) await this.conclude(one, given);
  }

  private lookAfter(milliseconds: number): void {
    if (this.closed.signal.aborted) return;
    this.timer = setTimeout(() => void this.work(() => this.look(milliseconds)), milliseconds);
  }

  private async look(waited: number): Promise<void> {
    for (const [callId, one] of this.open) {
      const row = await this.parts.store.toolCalls.get(callId);
      if (row?.content && this.letGo(callId)) void this.work(() => this.deliver(one, row));
    }
    this.timer = undefined;
    if (this.open.size === 0) return;
    // This check itself is the one task that is running.
    const isQuiet = this.working === 1 && this.fresh.length === 0 && performance.now() - this.stirredAt > QUIET_MS;
    if (isQuiet) this.outcome.resolve({ outcome: 'suspended', calls: [] });
    else this.lookAfter(Math.min(LAST_LOOK_MS, waited * 1.2));
  }
}

function answer({ handle, call }: OpenCall, given: MethodAnswer): Promise<void> {
  return handle.answerMethod(call.execId, call.number, given);
}

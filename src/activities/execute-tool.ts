import type { ExecuteToolArgs, ExecuteToolResult } from '../contracts/activities.ts';
import { failure } from '../contracts/errors.ts';
import { shownPlan } from '../common/plan-text.ts';
import { needsOf } from '../contracts/hosts/needs.ts';
import { PLAN_TOOL } from '../contracts/plan/plan.ts';
import { isAgentTool } from '../contracts/sub-agent.ts';
import { retryOf } from '../plugins/approval/judge-calls.ts';
import { registryInConversation } from '../plugins/registry/registry-in-conversation.ts';
import type { RegisteredTool, Registry } from '../plugins/registry/registry.ts';
import type { NewEvent, Store } from '../store/store.ts';
import type { ClaimResult, ToolCallRow } from '../store/tool-call-rows.ts';
import type { ActivityDependencies } from '../tool-calls/dependencies.ts';
import { createOutputEvents } from '../tool-calls/results/output-events.ts';
import { createLogLimits, type LogLimits } from '../tool-calls/log-limits.ts';
import { MethodDesk } from '../tool-calls/run/method-desk.ts';
import type { AwaitedResults } from '../tool-calls/run/methods/awaited-results.ts';
import type { DeskParts } from '../tool-calls/run/methods/desk-parts.ts';
import { beginWithoutRow, mayHaveLateRow, noRoom } from '../tool-calls/run/methods/late-row.ts';
import type { Within } from '../tool-calls/run/methods/within.ts';
import { startProgress, type Progress } from '../tool-calls/run/progress.ts';
import { askedSoFar, notingQuestions, type NotedUsage } from '../tool-calls/ask/asked-so-far.ts';
import { runAgentTool } from '../tool-calls/run/agent-tools.ts';
import { endClientCall, runClientTool } from '../tool-calls/run/run-client-tool.ts';
import { runContainerTool } from '../tool-calls/run/run-container-tool.ts';
import { runHostTool } from '../tool-calls/run/run-host-tool.ts';
import type { ConversationSandboxes } from '../tool-calls/run/sandbox-of-conversation.ts';
import { createSettleCall } from '../tool-calls/results/settle-call.ts';
import { subAgentOf } from '../tool-calls/run/sub-agents.ts';
import { storeOutcome, tellStored } from '../tool-calls/run/store-outcome.ts';
import { hostsOfQuestions } from '../tool-calls/run/tool-context.ts';
import { patiently } from '../tool-calls/run/fate/patiently.ts';
import { ownSandboxOf, type ToolRun } from '../tool-calls/run/tool-run.ts';
import type { RunOutcome } from '../tool-calls/run/tool-run-outcome.ts';

type Parts = Pick<ActivityDependencies, 'store' | 'registry' | 'agents' | 'models' | 'log' | 'services' | 'subAgents' | 'questions'> & {
  opened: ConversationSandboxes;
};

/**
 * Runs a tool call, or attaches to it: the ledger row is claimed by compare-and-set, a call that has a result returns it again, and commands in
 * the sandbox are followed wherever they run. Repeated runs of this activity give the call one effect.
 */
export function createExecuteTool(parts: Parts) {
  const { store, opened, services, models, questions } = parts;
  const [awaited, logLimits]: [AwaitedResults, LogLimits] = [new Map(), createLogLimits(parts.log)];
  return async function executeTool(args: ExecuteToolArgs): Promise<ExecuteToolResult> {
    using progress = startProgress(args.callId);
    const noted = notingQuestions(store.usage);
    // Awaited, so that the heartbeats continue until the end.
    const end = await attach(args, progress, { noted, runAtOnce: (nested, within) => attach(nested, withinAnother(progress), { noted, within }) });
    return patiently(
      () => withFacts(args, end, noted),
      (error) => parts.log.warn({ callId: args.callId, err: error }, 'what the workflow has to know of a call could not be read yet'),
    );
  };

  /** What the workflow has to know besides. The call may have its result by now, and no other attempt at it: this is not given up when Postgres is away for a moment. */
  async function withFacts(args: ExecuteToolArgs, end: ExecuteToolResult, noted: NotedUsage): Promise<ExecuteToolResult> {
    const told = { ...end, ...(noted.mayHaveAsked() && (await askedSoFar(store.usage, args, args.callId))) };
    if (told.outcome !== 'finished') return told;
    if (args.tool === PLAN_TOOL && !told.isError) return { ...told, plan: shownPlan((await store.plans.newest(args.conversationId)) ?? []) };
    return args.share ? { ...told, ...(await subAgentOf(store, args.callId)) } : told;
  }

  async function attach(args: ExecuteToolArgs, progress: Progress, { noted, runAtOnce, within }: Place): Promise<ExecuteToolResult> {
    const agent = parts.agents.get(args.agentId);
    await using begun = await begin(parts, args, noted, within);
    const { store, claim } = begun;
    const registry = await registryInConversation({ ...parts, store }, agent, args);
    const tool = registry.get(args.tool);
    switch (claim.outcome) {
      case 'missing':
        if (within) throw noRoom(args.storageLimit);
        throw failure('TOOL_CALL_NOT_FOUND', { callId: args.callId });
      case 'settled':
        return endClientCall({ store, args, tool }, await tellStored({ args, store, opened, registry, tool }, claim.call));
      case 'mismatch':
        return refuseMismatch({ args, registry, tool }, claim.call);
    }
    if (!within && claim.attempt === 1) noted.isFirst();
    const log = parts.log.child({ conversationId: args.conversationId, turnId: args.turnId, callId: args.callId });
    if (!tool) return settleUnknownTool(args, registry);
    const hosts: DeskParts['hosts'] = (signal) => hostsOfQuestions({ args, agent, models, store }, signal);
    using methods = new MethodDesk({ args, store, awaited, registry, agents: parts.agents, hosts, log, ...(runAtOnce && { runAtOnce }) });
    const output = outputOf(store, args, log);
    const outer = within?.signal;
    const shared = { registry, store, opened, services, progress, awaited, questions, models, logLimits };
    const run: ToolRun = { ...shared, args, claim, tool, output, log, methods, outer, agent };
    return endClientCall(run, await storeOutcome(run, await runTool(run, parts), within?.onStored));
  }

  /** The id was used with other arguments: an edit that came too late, or a forged call. A running call keeps its own result. */
  async function refuseMismatch({ args, registry, tool }: Claimed, call: ToolCallRow): Promise<ExecuteToolResult> {
    const mismatch = failure('TOOL_CALL_MISMATCH', { callId: args.callId, expected: call.hash, given: args.hash });
    if (call.state !== 'proposed') throw mismatch;
    return settleFailed({ args, registry, tool }, mismatch.message);
  }

  /** The worker that proposed the call knew the tool; this one has other plugins. */
  async function settleUnknownTool(args: ExecuteToolArgs, registry: Registry): Promise<ExecuteToolResult> {
    const known = registry.tools.map(({ id }) => id).join(', ') || 'none';
    return settleFailed({ args, registry, tool: undefined }, failure('TOOL_NOT_FOUND', { tool: args.tool, known }).message);
  }

  async function settleFailed({ args, registry, tool }: Claimed, message: string): Promise<ExecuteToolResult> {
    await createSettleCall({ store })({ ...args, settlement: 'failed', message });
    const call = await store.toolCalls.get(args.callId);
    if (!call) throw failure('TOOL_CALL_NOT_FOUND', { callId: args.callId });
    return tellStored({ args, store, opened, registry, tool }, call);
  }
}

/** Nothing of a call may begin on another host than that of its sandbox: what it does beside the sandbox could not be continued there. */
async function claimHere({ store, registry, opened, agents, log }: Parts, args: ExecuteToolArgs, started: NewEvent[]): Promise<ClaimResult> {
  const { callId, hash, conversationId, tool } = args;
  const known = registry.get(tool);
  // The sandbox of a plugin may be on another host than the conversation's, and clients need none.
  const hostId = ownSandboxOf(known) || known?.client ? undefined : opened.hostId;
  // What begins beside the worker cannot go on on another host when it needs a sandbox later.
  if (hostId !== undefined && known?.isolation !== 'container' && (hasNeeds(agents, args) || opened.isDraining())) await opened.checkFits(args);
  const claim = async () => {
    const claimed = hostId === undefined ? undefined : await store.toolCalls.claimOn(hostId, callId, hash, started);
    if (claimed) return claimed;
    if (hostId !== undefined) await opened.checkIsHere(conversationId);
    return store.toolCalls.claim(callId, hash, started);
  };
  // Other calls have a few attempts, which would be over within seconds.
  const mayComeAgain = known === undefined || retryOf(known) === 'attach';
  return mayComeAgain ? claim() : patiently(claim, (error) => log.warn({ callId, err: error }, 'a call could not be claimed yet'));
}

/** Claims the call, unless it may have its row later. */
async function begin(parts: Parts, args: ExecuteToolArgs, { usage }: NotedUsage, within: Within | undefined): Promise<Begun> {
  const started = [startedEvent(args)];
  if (within && mayHaveLateRow(within, parts.registry.get(args.tool))) {
    const late = beginWithoutRow(parts.store, within, started, args);
    return { ...late, store: { ...late.store, usage } };
  }
  const claim = await (within ? claimWithin(parts, args, within, started) : claimHere(parts, args, started));
  return { claim, store: { ...parts.store, usage }, [Symbol.asyncDispose]: async () => undefined };
}

function claimWithin({ store }: Parts, { storageLimit }: ExecuteToolArgs, { proposal, requested }: Within, started: NewEvent[]): Promise<ClaimResult> {
  return store.toolCalls.claimMethod(proposal, { requested: [requested], started }, storageLimit);
}

function hasNeeds(agents: Parts['agents'], { agentId }: ExecuteToolArgs): boolean {
  const { sandbox } = agents.get(agentId) ?? {};
  return sandbox !== undefined && Object.keys(needsOf(sandbox)).length > 0;
}

function outputOf({ events }: ActivityDependencies['store'], { conversationId, callId, turnId, stepId }: ExecuteToolArgs, log: ToolRun['log']) {
  return createOutputEvents({
    callId,
    turnId,
    stepId,
    append: (written) => events.append(conversationId, written),
    onProblem: (error) => log.warn({ err: error }, 'output could not be stored as events'),
  });
}

interface Begun extends AsyncDisposable {
  claim: ClaimResult;
  store: Store;
}

interface Claimed {
  args: ExecuteToolArgs;
  registry: Registry;
  tool: RegisteredTool | undefined;
}

/** How a call is run: by itself, when it may run calls of its code at once, or within the attempt of another call. */
interface Place {
  noted: NotedUsage;
  runAtOnce?: NonNullable<DeskParts['runAtOnce']>;
  within?: Within;
}

/** A call that runs within the attempt of another reports only its own lines. */
function withinAnother(progress: Progress): Progress {
  return { phase: () => undefined, output: () => undefined, line: (text) => progress.line(text), [Symbol.dispose]: () => undefined };
}

function runTool(run: ToolRun, { agents, subAgents }: Pick<Parts, 'agents' | 'subAgents'>): Promise<RunOutcome> {
  if (run.tool.client) return runClientTool(run);
  if (isAgentTool(run.args.tool)) return runAgentTool({ ...run, agents, subAgents });
  const { isolation } = run.tool;
  return isolation === 'container' || isolation === 'own' ? runContainerTool(run) : runHostTool(run);
}

function startedEvent({ callId, tool, turnId, stepId }: ExecuteToolArgs): NewEvent {
  return { type: 'tool.started', turnId, stepId, data: { callId, tool } };
}

import type { ExecuteToolArgs } from '../../contracts/activities.ts';
import { isExecOf } from '../../contracts/call-ids.ts';
import type { SandboxTier } from '../../contracts/conversation.ts';
import { elsewhereOf } from '../../sandbox/api/elsewhere.ts';
import { failure, isFailure } from '../../contracts/errors.ts';
import type { Agent } from '../../contracts/agent.ts';
import type { Models } from '../../models/create-models.ts';
import type { Logger } from '../../platform/log.ts';
import type { PluginServices } from '../../plugins/api/plugin-services.ts';
import type { RegisteredTool, Registry } from '../../plugins/registry/registry.ts';
import { untilRoom } from '../../sandbox/api/until-room.ts';
import type { WorkerHandle } from '../../sandbox/api/sandbox.ts';
import type { Store } from '../../store/store.ts';
import type { ClaimResult } from '../../store/tool-call-rows.ts';
import type { QuestionCalls } from '../dependencies.ts';
import type { LogLimits } from '../log-limits.ts';
import type { MethodDesk } from './method-desk.ts';
import type { AwaitedResults } from './methods/awaited-results.ts';
import type { OutputEvents } from '../results/output-events.ts';
import type { Progress } from './progress.ts';
import { redact } from '../results/redact.ts';
import { tierOf } from '../results/tier-of.ts';
import type { ConversationSandboxes } from './sandbox-of-conversation.ts';
import type { RunOutcome } from './tool-run-outcome.ts';
import { createCallSandbox, type CallSandbox } from './tool-sandbox.ts';

/** One claimed call that runs in this worker. */
export interface ToolRun {
  args: ExecuteToolArgs;
  claim: Extract<ClaimResult, { outcome: 'claimed' }>;
  tool: RegisteredTool;
  registry: Registry;
  store: Store;
  opened: ConversationSandboxes;
  services: PluginServices;
  progress: Progress;
  output: OutputEvents;
  log: Logger;
  /** Of what plugins write into the log. */
  logLimits: LogLimits;
  /** Takes the calls of the call's code. */
  methods: MethodDesk;
  awaited: AwaitedResults;
  questions: QuestionCalls;
  /** Aborts with the attempt of the other call within which this one runs, if it does: its server cannot ask, since the conversation does not know of the call. */
  outer: AbortSignal | undefined;
  /** Answer the questions of plugins. */
  models: Models;
  agent: Agent | undefined;
  /** Set once the conversation's sandbox has been reached. */
  handle?: WorkerHandle;
  /** The sandbox in which the tool has worked, if it has. */
  workedIn?: WorkerHandle;
  /** Code of the tool has called tools in this attempt. */
  hasCalls?: true;
}

/** How the row of the sandbox is found. */
export interface Reached {
  opened: Pick<ConversationSandboxes, 'rowOf'>;
}

/** The sandbox for one execution of the tool; opened at its first use. */
export function sandboxFor(run: ToolRun): CallSandbox {
  let opening: Promise<WorkerHandle> | undefined;
  return createCallSandbox({
    args: run.args,
    isBegun: run.claim.attempt > 1,
    ...(!comesAgain(run) && { waits: true as const }),
    open: (signal) => (opening ??= openToGoOn(run, signal)),
    onMethodCall(handle, call, asking) {
      run.hasCalls = true;
      if (asking === undefined) run.methods.take(handle, call);
      else run.methods.ask(asking, handle, call);
    },
    onOutput(stream, chunk) {
      run.output.push(stream, chunk);
      run.methods.stir();
      const { stdout, stderr } = run.output.seen();
      run.progress.output(stdout, stderr, lastLineOf(chunk));
    },
  });
}

/** Opens the sandbox for a call that may have started commands in it before. When that can no longer be checked, the call must not continue. */
async function openToGoOn(run: ToolRun, signal: AbortSignal): Promise<WorkerHandle> {
  const handle = await openFor(run, signal);
  if (run.claim.attempt === 1) return handle;
  const [lost] = await Promise.all([lostJournal(run, handle), skipTold(run)]);
  if (lost && !isRepeatable(run)) {
    throw failure('SANDBOX_LOST', { sandboxId: handle.sandboxId, problem: 'its files are gone, and with them the record of its commands' });
  }
  return handle;
}

/**
 * True when the sandbox has lost its files since the call was first claimed, so that its journal does not tell what the call had started. A call that
 * is in the journal began after the loss: in a sandbox that was rebuilt during a call, nothing is started again.
 */
export async function lostJournal({ opened, args, claim, tool }: ToolRun, handle: WorkerHandle): Promise<boolean> {
  const row = await (ownSandboxOf(tool)?.find(args.tenantId) ?? opened.rowOf(args.conversationId));
  const { startedAt } = claim.call;
  if (row?.filesLostAt === undefined || startedAt === undefined || row.filesLostAt < startedAt) return false;
  return !(await handle.execs()).some(({ execId }) => isExecOf(args.callId, execId));
}

/** Opens the sandbox of the tool: the conversation's, unless it has its own. The change of the conversation's row tells the model what was lost. */
export async function openFor(run: ToolRun, signal?: AbortSignal): Promise<WorkerHandle> {
  const { args, store, claim } = run;
  const ownSandbox = ownSandboxOf(run.tool);
  // What a container tool has begun by now it can begin again on another host.
  const mayMove = run.tool.isolation === 'container' && !run.outer;
  const open = async () => (ownSandbox ? ownSandbox.open(args.tenantId, claim.attempt > 1, !run.outer) : run.opened.open(args, args.tool, mayMove));
  const opened = await (comesAgain(run) ? open() : untilRoom(open, { signal }));
  // An interruption that found no sandbox could not block the first command; it stored its result in the ledger instead.
  if (!opened.held && (await store.toolCalls.get(args.callId))?.content) throw failure('INTERRUPTED', { callId: args.callId });
  run.progress.phase('running');
  run.workedIn = opened.handle;
  if (!ownSandbox) run.handle = opened.handle;
  return opened.handle;
}

/** Whether a later attempt may do what this one could not for want of memory. All others wait. */
function comesAgain({ tool, outer }: ToolRun): boolean {
  return (tool.isolation === 'container' || tool.isolation === 'own') && !outer;
}

/** Opens the conversation's sandbox for a tool that runs in another one. The call cannot be on the hosts of both. */
export async function openConversation(run: ToolRun): Promise<WorkerHandle> {
  const { tool } = run.args;
  const { handle } = await run.opened.open(run.args, tool).catch((error: unknown) => {
    const elsewhere = elsewhereOf(error);
    if (!elsewhere) throw error;
    throw failure('TOOL_FAILED', { tool, problem: `the sandbox of its plugin is on another host than the files of the conversation, on "${elsewhere.host}"` });
  });
  run.handle = handle;
  run.workedIn ??= handle;
  return handle;
}

/** Drops the handle of the tool's sandbox, whose container is gone. */
export function forgetFor({ args, opened, tool }: ToolRun): void {
  const ownSandbox = ownSandboxOf(tool);
  if (ownSandbox) ownSandbox.forget(args.tenantId);
  else opened.forget(args.conversationId);
}

/** The sandbox of the tool's plugin; undefined for a tool that runs elsewhere. */
export function ownSandboxOf(tool: Pick<RegisteredTool, 'isolation' | 'ownSandbox'> | undefined): RegisteredTool['ownSandbox'] {
  return tool?.isolation === 'own' ? tool.ownSandbox : undefined;
}

/** Whether the tool declares that a repeated execution has no further effect. */
export function isRepeatable({ tool: { annotations } }: Pick<ToolRun, 'tool'>): boolean {
  return annotations.readOnlyHint === true || annotations.idempotentHint === true;
}

/** The error result for the model when a tool threw an error. */
export function failedBy(run: ToolRun, error: unknown): RunOutcome {
  if (isFailure(error)) return { outcome: 'failed', text: redact(error.message) };
  const problem = wordsOf(error).trim() || 'it threw an error without a message';
  return { outcome: 'failed', text: failure('TOOL_FAILED', { tool: run.args.tool, problem: redact(problem) }).message };
}

function wordsOf(error: unknown): string {
  if (error instanceof Error) return error.message || error.name;
  if (typeof error === 'string') return error;
  try {
    return JSON.stringify(error) ?? '';
  } catch {
    return `it threw ${Array.isArray(error) ? 'a list' : typeof error === 'object' ? 'an object' : `a ${typeof error}`} that is not JSON`;
  }
}

/** Tier for the workflow: a sandbox that was just used is running. */
export async function tierAfterRun(run: Pick<ToolRun, 'args' | 'handle'> & Partial<Pick<ToolRun, 'outer'>> & Reached): Promise<SandboxTier> {
  // The code that made a call within another runs.
  if (run.handle || run.outer) return 'running';
  const row = await run.opened.rowOf(run.args.conversationId);
  return row ? tierOf(row) : 'none';
}

/** Skips output that an earlier attempt reported. Output that was written while no worker was attached is reported now. */
async function skipTold({ args, output, store }: ToolRun): Promise<void> {
  const { stdout, stderr } = await store.events.toldOutput(args.conversationId, args.callId);
  output.skip(stdout, stderr);
}

function lastLineOf(chunk: Buffer): string {
  return chunk.subarray(-400).toString().trimEnd().split('\n').at(-1) ?? '';
}

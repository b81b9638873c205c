import type { ApprovalDecision } from './agent.ts';
import type { ConversationStatus, SandboxTier, TurnOutcome, Usage } from './conversation.ts';
import type { EventType } from './events.ts';
import type { JsonObject } from './json.ts';
import type { StartScheduledArgs, StartScheduledResult } from './schedule.ts';

/** A tool call as the model asked for it and the worker judged it; big arguments stay in Postgres. */
export interface ProposedCall {
  callId: string;
  /** Full id, `pluginId:toolId`, or the unknown name the model used. */
  tool: string;
  /** Absent when over 16 KB. */
  arguments?: JsonObject;
  /** Hash of tool, arguments and plugin version; an approval is bound to it. */
  hash: string;
  /** What the policy says; a call that cannot run (unknown tool, bad arguments) is `invalid` and already has its result. */
  decision: ApprovalDecision | 'invalid';
  /** Why the policy says so, in words. */
  why: string;
  kind: 'tool' | 'agent' | 'behavior' | 'multimodal_agent';
  readOnly: boolean;
  /** Whether the call needs the conversation's sandbox. */
  needsSandbox: boolean;
  timeoutMs: number;
  /** Attempts that Temporal may make when the worker cannot tell what happened; re-attaching calls may be retried at will. */
  retry: 'attach' | 'repeat' | 'once';
  /** One line for the Temporal UI, such as `npm test`. */
  summary: string;
}

export interface CallModelArgs {
  conversationId: string;
  agentId: string;
  turnId: string;
  stepId: string;
  /** Number of the step in its turn, from 0. */
  step: number;
  userId: string;
  tenantId: string;
  /** Nobody is there to approve anything. */
  unattended?: boolean;
  /** Tools that were allowed for the rest of the conversation. */
  allowedTools?: string[];
  /** Bytes that the conversation may store; absent for no limit. */
  storageLimit?: number;
}
export type CallModelResult =
  | { outcome: 'answered'; calls: ProposedCall[]; usage: Usage; /** True when the model said anything to the user. */ spoke: boolean }
  | { outcome: 'failed'; code: string; message: string }
  /** The model was not asked: the conversation has stored all that it may. */
  | { outcome: 'exhausted'; storedBytes: number };

/** Arguments of every tool activity; its activity type is the tool's own id. */
export interface ExecuteToolArgs {
  conversationId: string;
  agentId: string;
  userId: string;
  tenantId: string;
  turnId: string;
  stepId: string;
  callId: string;
  tool: string;
  hash: string;
  timeoutMs: number;
  needsSandbox: boolean;
  /** Calls of its code that the workflow looks after already; absent when there are none. */
  openMethods?: string[];
  /** Bytes that the conversation may store; absent for no limit. */
  storageLimit?: number;
  /** A person was asked about it, or its policy for that person: it runs as it was shown, or not at all. */
  approved?: true;
}
/**
 * How an attach to a tool call ended. `finished`: the result is stored, whatever it says; `onlyNoted`: it is that of code that called only behaviors and
 * told nothing, so that it sets off no step. `detached`: the command goes on (or stays frozen) without us.
 * `unknown`: it was started and nobody can know whether it took effect. `interrupted`: ended on request.
 * `suspended`: its code waits for calls that it made; `calls` are those that the workflow was not told of before.
 */
export type ExecuteToolResult =
  | { outcome: 'finished'; isError: boolean; kind?: 'behavior'; onlyNoted?: true; sandboxTier: SandboxTier }
  | { outcome: 'detached'; sandboxTier: SandboxTier }
  | { outcome: 'interrupted'; sandboxTier: SandboxTier }
  | { outcome: 'suspended'; calls: ProposedCall[]; sandboxTier: SandboxTier }
  | { outcome: 'unknown'; why: string; sandboxTier: SandboxTier };

export interface SettleCallArgs {
  conversationId: string;
  turnId: string;
  stepId: string;
  callId: string;
  tool: string;
  /** Why the call got no result of its own; this text becomes its result for the model. */
  settlement: 'denied' | 'expired' | 'interrupted' | 'unknown' | 'failed';
  message: string;
}

export interface ApprovalEventArgs {
  conversationId: string;
  turnId: string;
  callId: string;
  tool: string;
  hash: string;
  event:
    | { type: 'requested'; why: string; expiresAtMs: number }
    | { type: 'resolved'; answer: 'allow' | 'allow-once' | 'deny' | 'expired'; by?: string; reason?: string };
}
export interface EditArgumentsArgs {
  conversationId: string;
  agentId: string;
  callId: string;
  tool: string;
  editedArguments: JsonObject;
}
export type EditArgumentsResult = { outcome: 'edited'; hash: string; arguments?: JsonObject } | { outcome: 'invalid'; message: string };

export interface AcceptMessageArgs {
  conversationId: string;
  turnId: string;
  messageId: string;
  /** Absent when the text is in Postgres under `messageId`. */
  text?: string;
  /** True when the message joins a running turn; otherwise the turn starts here. */
  steers: boolean;
  status: ConversationStatus;
}

export interface FinishTurnArgs {
  conversationId: string;
  turnId: string;
  outcome: TurnOutcome;
  /** Why, when the turn did not finish by itself. */
  message?: string;
  status: ConversationStatus;
}

export interface SaveStatusArgs {
  status: ConversationStatus;
  /** Events to append with the status, in one transaction. */
  events: { type: EventType; turnId?: string; data: JsonObject }[];
}

export interface SandboxActionArgs {
  conversationId: string;
}
export interface FreezeSandboxArgs extends SandboxActionArgs {
  /** Absent in histories of earlier versions, which meant a pause by it. */
  mode?: 'idle' | 'pause';
}
export interface HibernateSandboxArgs extends SandboxActionArgs {
  /** What to do with a sandbox whose processes cannot be put to disk, or not be taken along. */
  otherwise: 'stop' | 'stay';
}
export interface SandboxActionResult {
  sandboxTier: SandboxTier;
}
export interface InterruptCallArgs {
  conversationId: string;
  callId: string;
}

/** The activities with fixed names; tool calls run under the tool's own id (the worker's `default` activity). */
export interface ConversationActivities {
  callModel(args: CallModelArgs): Promise<CallModelResult>;
  /** Gives a call that will not run a result that the model can read. */
  settleCall(args: SettleCallArgs): Promise<void>;
  recordApproval(args: ApprovalEventArgs): Promise<void>;
  /** Validates arguments edited by an operator and stores them in place of the model's. */
  editArguments(args: EditArgumentsArgs): Promise<EditArgumentsResult>;
  acceptMessage(args: AcceptMessageArgs): Promise<void>;
  finishTurn(args: FinishTurnArgs): Promise<void>;
  saveStatus(args: SaveStatusArgs): Promise<void>;
  freezeSandbox(args: FreezeSandboxArgs): Promise<SandboxActionResult>;
  hibernateSandbox(args: HibernateSandboxArgs): Promise<SandboxActionResult>;
  archiveSandbox(args: HibernateSandboxArgs): Promise<SandboxActionResult>;
  wakeSandbox(args: SandboxActionArgs): Promise<SandboxActionResult>;
  stopSandbox(args: SandboxActionArgs): Promise<SandboxActionResult>;
  destroySandbox(args: SandboxActionArgs): Promise<SandboxActionResult>;
  /** Ends a running command, wherever it runs; it settles as interrupted. */
  interruptCall(args: InterruptCallArgs): Promise<void>;
  /** Starts the conversation of a schedule's run, once, however often it is asked to. */
  startScheduled(args: StartScheduledArgs): Promise<StartScheduledResult>;
}

/** Heartbeat details of a tool call, shown in the Temporal UI. */
export interface ToolProgress {
  callId: string;
  phase: 'preparing' | 'running' | 'storing';
  stdoutBytes: number;
  stderrBytes: number;
  lastLine: string;
}

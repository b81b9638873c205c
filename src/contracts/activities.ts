import type { CheckpointActivities } from './checkpoints/checkpoint.ts';
import type { ForkActivities } from './forks/fork.ts';
import type { ApprovalDecision } from './agent.ts';
import type { RunByClient, TimeLeft } from './client-tool.ts';
import type { CompactionActivities, CompactionReason } from './transcript.ts';
import type { AllowedCall, ConversationStatus, SandboxTier, TurnOutcome } from './conversation.ts';
import type { EventType } from './events.ts';
import type { JsonObject } from './json.ts';
import type { JudgeCallArgs, JudgeCallResult } from './judging.ts';
import type { AsksForPlace, CountedTurn, NoPlace, PlaceActivities } from './places/turn-place.ts';
import type { StartScheduledArgs, StartScheduledResult } from './schedule.ts';
import type { FinishedCall, ReportEndArgs, Share, Spent, TaskCall } from './sub-agent.ts';
import type { OfferLimits } from './sub-agents/sandbox-use.ts';
import type { AskedByPlugins, LeftForPlugins, ModelShare, Usage } from './usage.ts';

/** A tool call as the model requested it and the worker judged it; large arguments stay in Postgres. */
export interface ProposedCall extends RunByClient, AllowedCall, TaskCall {
  callId: string;
  /** Full id, `pluginId:toolId`, or the unknown name that the model used. */
  tool: string;
  /** Absent when over 16 KB, or when those of other calls take the room. */
  arguments?: JsonObject;
  /** Hash of tool, arguments and plugin version; an approval is bound to it. */
  hash: string;
  /** What the policy says; a call that cannot run (unknown tool, bad arguments) is `invalid` and already has its result. */
  decision: ApprovalDecision | 'invalid';
  /** The reason for the decision, as text. */
  why: string;
  kind: 'tool' | 'agent' | 'behavior' | 'multimodal_agent';
  readOnly: boolean;
  /** Whether the call needs the conversation's sandbox. */
  needsSandbox: boolean;
  /** The call runs in a sandbox of its plugin: it has to be ended there when the turn ends, and a pause does not touch it. */
  inOwnSandbox?: true;
  timeoutMs: number;
  /** How Temporal retries the call. `attach`: without limit, since every attempt attaches to the same commands. `repeat`: a few times. `once`: never. */
  retry: 'attach' | 'repeat' | 'once';
  /** One line for the Temporal UI, such as `npm test`. */
  summary: string;
  /** Its server may ask a person during the call, and a worker follows the call until there is an answer. */
  mayAsk?: true;
  /** Its server may ask the model of the agent during the call, within the budget. */
  mayAskModel?: true;
  /** Of a call that asks: a model judges it while it waits for a person, and may allow it. */
  auto?: true;
}

export interface CallModelArgs extends OfferLimits, AsksForPlace, LeftForPlugins {
  conversationId: string;
  agentId: string;
  turnId: string;
  stepId: string;
  /** Number of the step in its turn, from 0. */
  step: number;
  userId: string;
  tenantId: string;
  /** Tools that were allowed for the rest of the conversation. */
  allowedTools?: string[];
  /** Bytes that the conversation may store; absent for no limit. */
  storageLimit?: number;
  /** Tokens that may still be used. Present for sub-agents, for which a step is not begun that would use more. */
  tokensLeft?: number;
  /** The conversation has a budget of cost: a model whose price is not known is not called. */
  priceRequired?: true;
  /** The message whose `output`, which is in Postgres, the answer has to fit. Absent: that of the agent, if it has one. */
  outputOf?: string;
  /** The answer of the step before did not fit; when this one does not either, the model is not asked again. */
  repairs?: true;
  /** How often the prompt of this step was made smaller. Absent from workers of earlier versions, which do not do so. */
  compactions?: number;
  /** A user has written the message that began the turn, and it may be a command of a plugin, whose answers are these steps. */
  mayBeCommand?: true;
  /** Messages that are accepted before the model is called, and the status from then on. */
  accepts?: { messages: AcceptedMessage[]; status: ConversationStatus };
}
/** `accepted`: whether the messages of `accepts` are accepted. Absent without them, and from workers of earlier versions, which call the model without them. */
export type CallModelResult = ModelOutcome & CountedTurn & { accepted?: boolean } & AskedByPlugins;
export type ModelOutcome =
  | {
      outcome: 'answered';
      calls: ProposedCall[];
      usage: Usage;
      /** True when the model said anything to the user. */
      spoke: boolean;
      /** Present when the answer has to fit a schema. */
      answer?: AnswerCheck;
    }
  | { outcome: 'failed'; code: string; message: string }
  /** The model was not called: the conversation has used all of its storage. */
  | { outcome: 'exhausted'; storedBytes: number }
  /** The model was not called: tasks of plugins have used what was left of the budget, which `askedByTasks` tells. */
  | { outcome: 'spent' }
  /** The model was not called: the step would probably use this many tokens, and fewer are left. */
  | { outcome: 'unaffordable'; needs: number }
  /** The model was not called, or refused the prompt as too long: the prompt has to be made smaller first. */
  | { outcome: 'compact'; reason: CompactionReason }
  /** The model was not called: its messages could not be accepted now. */
  | { outcome: 'unaccepted' }
  | NoPlace;

/** Whether an answer fits the schema that it has to. `pending`: the model has called tools first. `refused`: it does not, and `message` says why. */
export type AnswerCheck = { outcome: 'fits' } | { outcome: 'pending' } | { outcome: 'refused'; message: string };

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
  /** Calls of its code that the workflow owns already; absent when there are none. */
  openMethods?: string[];
  /** Bytes that the conversation may store; absent for no limit. */
  storageLimit?: number;
  /** The policy asked for an approval, and the call has it. It runs exactly as it was shown, or not at all. */
  approved?: true;
  /** What is put aside for the sub-agent of the call. */
  share?: Share;
  /** What is left of the budget for questions that the tool asks the model, with those that it has asked; what is absent in it is not limited. Absent: it may ask none. */
  modelLeft?: ModelShare;
}
/**
 * How an attach to a tool call ended. `finished`: the result is stored, success or error; `onlyNoted`: the call's code called only behaviors and returned
 * nothing, so its result starts no step. `detached`: the command continues (or stays frozen) without this worker. `unknown`: it was started and no process can
 * know whether it took effect. `interrupted`: it was ended on request. `suspended`: its code waits for calls that it made; `calls` are those that the workflow
 * does not know yet. `waitsFor`: the conversations of sub-agents that it waits for; `waitsForPlace`: the tree of conversations is full; `client`: for a client.
 */
export type ExecuteToolResult = CallOutcome & AskedByPlugins;
type CallOutcome =
  | (FinishedCall & { outcome: 'finished'; isError: boolean; kind?: 'behavior'; onlyNoted?: true; sandboxTier: SandboxTier })
  | { outcome: 'detached'; sandboxTier: SandboxTier }
  | { outcome: 'interrupted'; sandboxTier: SandboxTier }
  | { outcome: 'suspended'; calls: ProposedCall[]; waitsFor?: string[]; waitsForPlace?: true; client?: TimeLeft; sandboxTier: SandboxTier }
  | { outcome: 'unknown'; why: string; sandboxTier: SandboxTier };

export interface SettleCallArgs {
  conversationId: string;
  turnId: string;
  stepId: string;
  callId: string;
  tool: string;
  /** Why the call got no result of its own; `message` becomes its result for the model. `answered`: a person has answered a question of a server. */
  settlement: 'denied' | 'expired' | 'interrupted' | 'unknown' | 'failed' | 'answered';
  message: string;
  /** A call that has failed may not be repeated: if an attempt at it has begun, it is unknown whether it took effect. */
  runsOnce?: true;
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
/** A link to the page of an approval, with which it can be answered once. */
export interface ApprovalLink {
  url: string;
  expiresAtMs: number;
}
/** Empty or absent: no link was made. */
export interface ApprovalEventResult {
  link?: ApprovalLink;
}
export interface EditArgumentsArgs {
  conversationId: string;
  agentId: string;
  callId: string;
  tool: string;
  editedArguments: JsonObject;
}
export type EditArgumentsResult = { outcome: 'edited'; hash: string; arguments?: JsonObject } | { outcome: 'invalid'; message: string };

/** A message on its way into the transcript. */
export interface AcceptedMessage {
  messageId: string;
  /** Absent when the text is in Postgres under `messageId`. */
  text?: string;
  /** True when the message joins a running turn; otherwise it starts a turn. */
  steers: boolean;
}
export interface AcceptMessageArgs extends AcceptedMessage {
  conversationId: string;
  turnId: string;
  status: ConversationStatus;
  /** What names its events, so that they are logged once. Absent in histories of earlier versions, where it means `activity`. */
  eventsOf?: 'message' | 'activity';
}

export interface FinishTurnArgs extends CountedTurn {
  conversationId: string;
  turnId: string;
  outcome: TurnOutcome;
  /** The reason, when the turn did not finish normally. */
  message?: string;
  /** The step whose answer is a JSON value that fits what was asked for. */
  answeredIn?: string;
  /** The newest step of a turn that did not finish normally; calls of its answer may have no result. */
  endedIn?: string;
  /** The turn has called tools, and a backup of the sandbox is due. */
  backup?: true;
  /** What names its event. Absent in histories of earlier versions, where it means `activity`. */
  eventsOf?: 'turn' | 'activity';
  status: ConversationStatus;
}

export interface SaveStatusArgs {
  status: ConversationStatus;
  /** Events to append with the status, in one transaction. */
  events: { type: EventType; turnId?: string; data: JsonObject }[];
}

/** Empty or absent: the worker does not know where people reach the service. */
export interface SaveStatusResult {
  serviceUrl?: string;
}

export interface SandboxActionArgs {
  conversationId: string;
}
export interface FreezeSandboxArgs extends SandboxActionArgs {
  /** Absent in histories of earlier versions, where it means `pause`. */
  mode?: 'idle' | 'pause';
}
export interface HibernateSandboxArgs extends SandboxActionArgs {
  /** What to do with a sandbox whose processes cannot be written to disk, or not archived. */
  otherwise: 'stop' | 'stay';
}
export interface SandboxActionResult {
  sandboxTier: SandboxTier;
}
export interface InterruptCallArgs {
  conversationId: string;
  callId: string;
}

export interface CloseSubAgentArgs {
  conversationId: string;
  callId: string;
}
export interface CloseSubAgentResult {
  /** Absent while it still closes. */
  spent?: Spent;
}
export interface HoldSubAgentArgs {
  conversationId: string;
  callId: string;
  /** `step`, `now`: pause it in this way. Absent: resume it. */
  pause?: 'step' | 'now';
}

/** The activities with fixed names; tool calls run under the tool's own id (the worker's `default` activity). */
export interface ConversationActivities extends CheckpointActivities, CompactionActivities, ForkActivities<SandboxTier>, PlaceActivities {
  callModel(args: CallModelArgs): Promise<CallModelResult>;
  /** Stores a result that the model can read for a call that will not run. */
  settleCall(args: SettleCallArgs): Promise<void>;
  /** Asks the judge of the agent about a call, once. */
  judgeCall(args: JudgeCallArgs): Promise<JudgeCallResult>;
  recordApproval(args: ApprovalEventArgs): Promise<ApprovalEventResult | undefined>;
  /** Validates arguments edited by an operator and stores them in place of the model's. */
  editArguments(args: EditArgumentsArgs): Promise<EditArgumentsResult>;
  acceptMessage(args: AcceptMessageArgs): Promise<void>;
  finishTurn(args: FinishTurnArgs): Promise<void>;
  saveStatus(args: SaveStatusArgs): Promise<SaveStatusResult | undefined>;
  freezeSandbox(args: FreezeSandboxArgs): Promise<SandboxActionResult>;
  hibernateSandbox(args: HibernateSandboxArgs): Promise<SandboxActionResult>;
  archiveSandbox(args: HibernateSandboxArgs): Promise<SandboxActionResult>;
  wakeSandbox(args: SandboxActionArgs): Promise<SandboxActionResult>;
  stopSandbox(args: SandboxActionArgs): Promise<SandboxActionResult>;
  destroySandbox(args: SandboxActionArgs): Promise<SandboxActionResult>;
  /** Ends a running command, wherever it runs; its call settles as interrupted. */
  interruptCall(args: InterruptCallArgs): Promise<void>;
  /** Closes the sub-agent of a call. Gives what it has spent if it has ended, or was never started. */
  closeSubAgent(args: CloseSubAgentArgs): Promise<CloseSubAgentResult>;
  /** Pauses the sub-agent of a call, or resumes it. */
  holdSubAgent(args: HoldSubAgentArgs): Promise<void>;
  /** Tells the conversation that gave a sub-agent its task that it has ended. */
  reportEnd(args: ReportEndArgs): Promise<void>;
  /** Starts the conversation of a schedule's run. Repeated calls for one run start it once. */
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

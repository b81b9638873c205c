import type { ProposedCall } from '../../contracts/activities.ts';
import type { Agent } from '../../contracts/agent.ts';
import { MAX_INLINE_ARGUMENTS } from '../../contracts/conversation.ts';
import { failure } from '../../contracts/errors.ts';
import type { JsonObject } from '../../contracts/json.ts';
import { AGENT_TOOLS, givesTask, isAgentTool, type TaskCall } from '../../contracts/sub-agent.ts';
import { isShared } from '../../contracts/sub-agents/sandbox-use.ts';
import { showValue } from '../../common/show-value.ts';
import { summaryLine } from '../../contracts/markdown.ts';
import { decide, type Decision } from './decide.ts';
import { hashCall } from '../registry/hash-call.ts';
import { isCallable } from '../registry/is-callable.ts';
import { namesOf, type RegisteredTool, type Registry } from '../registry/registry.ts';

/** A call as the model requested it, with the full id of the tool, or the unknown name that the model used. */
export interface RawCall {
  callId: string;
  tool: string;
  arguments: JsonObject;
}

export interface JudgedCalls {
  /** In the order of the calls, one for each. */
  proposed: ProposedCall[];
  /** The arguments that each call would run with, in the same order. */
  accepted: JsonObject[];
  /** What the model is told about the calls that are `invalid`. */
  refusals: { callId: string; text: string }[];
}

interface ToJudge {
  registry: Registry;
  agent: Agent;
  calls: RawCall[];
  /** Default: the model. Code in the sandbox, and messages that are commands, may also call tools that are hidden from the model. */
  caller?: 'model' | 'code' | 'message';
  /** The tools that may be called in the conversation; by default all of the agent. */
  available?: RegisteredTool[];
  /** Tools that an operator has allowed for the rest of the conversation. */
  allowedTools?: string[];
  /** No person is available to approve calls. */
  unattended?: boolean;
}

/** Turns tool calls into what the workflow needs to know: whether each can run, may run, and how it may be retried. */
export async function judgeCalls(request: ToJudge): Promise<JudgedCalls> {
  const { registry, agent, calls, caller = 'model', available: given = registry.forAgent(agent).filter(isCallable) } = request;
  const available = given.filter(({ visibility }) => caller !== 'model' || visibility !== 'hidden');
  const judged: JudgedCalls = { proposed: [], accepted: [], refusals: [] };
  for (const raw of calls) {
    const tool = available.find(({ id }) => id === raw.tool);
    const call = tool ? { ...raw, arguments: tool.accept(raw.arguments) } : raw;
    const refusal = await refusalOf(call, tool, available, agent);
    judged.accepted.push(call.arguments);
    if (tool && !refusal) {
      judged.proposed.push(proposeCall(request, tool, call));
      continue;
    }
    const text = refusal ?? '';
    judged.proposed.push(invalidCall(call, tool, text));
    judged.refusals.push({ callId: call.callId, text });
  }
  return judged;
}

async function refusalOf(call: RawCall, tool: RegisteredTool | undefined, available: RegisteredTool[], agent: Agent): Promise<string | undefined> {
  if (!tool) return failure('TOOL_NOT_FOUND', { tool: call.tool, known: namesOf(available) }).message;
  const problems = await tool.problemsOf(call.arguments);
  if (problems.length === 0) return givesTask(tool.id) ? unknownAgent(call, agent) : undefined;
  return failure('TOOL_ARGUMENTS_INVALID', { tool: tool.id, problems: problems.join('; ') }).message;
}

function unknownAgent(call: RawCall, { agents = {} }: Agent): string | undefined {
  const name = nameIn(call);
  if (Object.hasOwn(agents, name)) return undefined;
  const problems = `agent: there is no agent ${showValue(name)}; known are ${Object.keys(agents).join(', ')}`;
  return failure('TOOL_ARGUMENTS_INVALID', { tool: call.tool, problems }).message;
}

function nameIn({ arguments: { agent } }: RawCall): string {
  return typeof agent === 'string' ? agent : '';
}

function proposeCall(request: ToJudge, tool: RegisteredTool, call: RawCall): ProposedCall {
  const { decision, why, auto, isRemembered } = inConversation(decide(request.agent, tool, call.arguments), tool, request);
  return {
    ...identityOf(call, tool),
    decision,
    why,
    ...(auto && { auto }),
    ...(isRemembered && { remembered: true as const }),
    kind: tool.kind,
    readOnly: tool.annotations.readOnlyHint === true,
    needsSandbox: tool.isolation === 'container',
    ...(tool.isolation === 'own' && { inOwnSandbox: true as const }),
    timeoutMs: tool.timeoutMs,
    retry: retryOf(tool),
    summary: summaryOf(tool, call.arguments),
    ...(tool.mayAsk && { mayAsk: true as const }),
    ...(tool.mayAskModel && { mayAskModel: true as const }),
    ...(tool.client && { client: true }),
    ...(givesTask(tool.id) && taskOf(request.agent, nameIn(call))),
    ...((tool.id === AGENT_TOOLS.run || tool.id === AGENT_TOOLS.wait) && { waits: true }),
  };
}

/** A person may give the task to another agent yet: whether the sandbox is shared is not asked of this one alone. */
function taskOf({ agents = {} }: Agent, name: string): Pick<TaskCall, 'share' | 'sharesSandbox'> {
  const sharesSandbox = Object.values(agents).some(({ sandbox }) => isShared(sandbox));
  return { share: agents[name]?.budget ?? {}, ...(sharesSandbox && { sharesSandbox }) };
}

/** A tool that needs approval may be approved for the whole conversation already, or no person may be available to approve it. */
function inConversation(decided: Decision, { id }: RegisteredTool, { allowedTools = [], unattended = false }: ToJudge): Decision & { isRemembered?: true } {
  if (decided.decision !== 'ask') return decided;
  if (unattended && !decided.auto) return { decision: 'deny', why: `no person can approve it in an unattended conversation (${decided.why})` };
  return allowedTools.includes(id) ? { decision: 'allow', why: `${id} was allowed for the rest of this conversation`, isRemembered: true } : decided;
}

function invalidCall(call: RawCall, tool: RegisteredTool | undefined, why: string): ProposedCall {
  const inert = { kind: 'tool', readOnly: false, needsSandbox: false, timeoutMs: 0, retry: 'once', summary: summaryLine(why) } as const;
  return { ...identityOf(call, tool), decision: 'invalid', why, ...inert };
}

function identityOf(call: RawCall, tool: RegisteredTool | undefined): Pick<ProposedCall, 'callId' | 'tool' | 'hash' | 'arguments'> {
  const inline = JSON.stringify(call.arguments).length <= MAX_INLINE_ARGUMENTS;
  const hash = hashCall(tool ?? { id: call.tool, pluginVersion: '' }, call.arguments);
  return { callId: call.callId, tool: call.tool, hash, ...(inline && { arguments: call.arguments }) };
}

/** What another attempt does at a call of the tool: goes on with it, does it again, or nothing, so that there is only one. */
export function retryOf(tool: Pick<RegisteredTool, 'id' | 'client' | 'mayGoOn' | 'isolation' | 'annotations'>): ProposedCall['retry'] {
  // It may wait for a sign-in for as long as a day, or be a task, over any number of workers.
  if (tool.mayGoOn || tool.client || isAgentTool(tool.id)) return 'attach';
  if (tool.isolation === 'container' || tool.isolation === 'own') return 'attach';
  return tool.annotations.readOnlyHint || tool.annotations.idempotentHint ? 'repeat' : 'once';
}

/** One line for operators. An error in the plugin's own summary must not stop the call. */
function summaryOf(tool: RegisteredTool, input: JsonObject): string {
  try {
    const own = tool.summarize?.(input);
    if (typeof own === 'string') return summaryLine(own);
  } catch {
    return tool.id;
  }
  return summaryLine(Object.values(input).find((value) => typeof value === 'string') ?? tool.annotations.title ?? tool.id);
}

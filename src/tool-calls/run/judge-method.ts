import type { ExecuteToolArgs, ProposedCall } from '../../contracts/activities.ts';
import { depthOfCall } from '../../contracts/call-ids.ts';
import { isAgentTool } from '../../contracts/sub-agent.ts';
import type { JsonObject } from '../../contracts/json.ts';
import type { Agent } from '../../contracts/agent.ts';
import { judgeCalls } from '../../plugins/approval/judge-calls.ts';
import type { RegisteredTool, Registry } from '../../plugins/registry/registry.ts';
import type { MethodAnswer, MethodCall } from '../../sandbox/api/methods.ts';
import type { ToolCallRow } from '../../store/tool-call-rows.ts';
import { describeTools, LIST_TOOLS } from '../offer/describe-tools.ts';
import { refusedAnswer } from '../results/method-answer.ts';

/** What to do about a call of code. `at-once`: it only reads and needs no approval. `durable`: the workflow runs it. */
export type MethodVerdict = { next: 'answer'; answer: MethodAnswer } | { next: 'deny' | 'at-once' | 'durable'; proposed: ProposedCall; accepted: JsonObject };

const MAX_DEPTH = 3;

export interface MethodJudge {
  args: Pick<ExecuteToolArgs, 'agentId'>;
  registry: Registry;
  agents: ReadonlyMap<string, Agent>;
  /** The tools that may be called in the conversation. */
  available: RegisteredTool[];
}

/** Judges a call of code in the same way as a call of the model. `row`: its row in the ledger, with arguments that a person may have changed. */
export async function judgeMethod(
  { args, registry, agents, available }: MethodJudge,
  callId: string,
  call: MethodCall,
  row: ToolCallRow | undefined,
): Promise<MethodVerdict> {
  const agent = agents.get(args.agentId);
  if (!agent) return refused('TOOL_NOT_FOUND', `Agent "${args.agentId}" is not known here.`);
  if (call.tool === LIST_TOOLS) return { next: 'answer', answer: { ok: describeTools(available, registry) } };
  if (depthOfCall(callId) > MAX_DEPTH) return refused('TOO_DEEP', `Code that was called by code may call tools ${MAX_DEPTH} levels deep, not deeper.`);
  const calls = [{ callId, tool: call.tool, arguments: row?.arguments ?? call.arguments }];
  const {
    proposed: [proposed],
    accepted: [accepted = {}],
  } = await judgeCalls({ registry, agent, calls, caller: 'code', available });
  if (!proposed || proposed.decision === 'invalid') {
    return refused(available.some(({ id }) => id === call.tool) ? 'TOOL_ARGUMENTS_INVALID' : 'TOOL_NOT_FOUND', proposed?.why ?? '');
  }
  return { next: nextOf(proposed), proposed, accepted };
}

function nextOf({ decision, readOnly, tool, client }: ProposedCall): 'deny' | 'at-once' | 'durable' {
  if (decision === 'deny') return 'deny';
  return decision === 'allow' && readOnly && !isAgentTool(tool) && !client ? 'at-once' : 'durable';
}

function refused(code: string, message: string): MethodVerdict {
  return { next: 'answer', answer: refusedAnswer(code, message) };
}

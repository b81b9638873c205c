import type { Agent, ApprovalDecision, ApprovalRule } from '../contracts/agent.ts';
import type { Json, JsonObject } from '../contracts/json.ts';
import { matchesPattern } from './match-pattern.ts';
import type { RegisteredTool } from './registry.ts';

export interface Decision {
  decision: ApprovalDecision;
  /** The reason, in words for a person. */
  why: string;
}

/** What an agent says about approvals. */
export type ApprovalPolicy = Pick<Agent, 'approval' | 'requireApproval'>;
type JudgedTool = Pick<RegisteredTool, 'id' | 'pluginId' | 'requireApproval' | 'annotations'>;

const STRICTEST_FIRST: ApprovalDecision[] = ['deny', 'ask', 'allow'];
const IN_WORDS: Record<ApprovalDecision, string> = { deny: 'denied', ask: 'asked', allow: 'allowed' };

/**
 * What the policy says about a call. The agent's rules come first, the strictest that matches wins, and its `requireApproval` counts as one of them. Where none
 * does, the tool's own `requireApproval` speaks, or its plugin's; without that, tools that only read are allowed and all others asked.
 */
export function decide(policy: ApprovalPolicy, tool: JudgedTool, input: JsonObject): Decision {
  for (const decision of STRICTEST_FIRST) {
    const index = policy.approval.findIndex((rule) => rule.decide === decision && matchesRule(rule, tool, input));
    const rule = policy.approval[index];
    if (rule) return { decision, why: `rule ${index + 1} of the agent: ${ruleInWords(rule)} is ${IN_WORDS[decision]}` };
    const override = decision === 'deny' ? undefined : overrideOf(policy, tool, decision === 'ask');
    if (override !== undefined) return { decision, why: `requireApproval of the agent: ${override} is ${IN_WORDS[decision]}` };
  }
  return decideByTool(tool);
}

function decideByTool({ id, requireApproval, annotations }: JudgedTool): Decision {
  if (requireApproval === true) return { decision: 'ask', why: `${id} asks for approval by its own definition` };
  if (requireApproval === false) return { decision: 'allow', why: `${id} needs no approval by its own definition` };
  if (annotations.destructiveHint) return { decision: 'ask', why: `no rule of the agent matches; ${id} may destroy something, which is asked` };
  if (annotations.readOnlyHint) return { decision: 'allow', why: `no rule of the agent matches; ${id} only reads, which is allowed` };
  return { decision: 'ask', why: `no rule of the agent matches; ${id} may change something, which is asked` };
}

function overrideOf({ requireApproval }: ApprovalPolicy, { id }: JudgedTool, asks: boolean): string | undefined {
  return Object.keys(requireApproval).find((pattern) => requireApproval[pattern] === asks && matchesPattern(pattern, id));
}

function matchesRule({ tool, plugin, annotation, when = {} }: ApprovalRule, judged: JudgedTool, input: JsonObject): boolean {
  if (tool !== undefined && !matchesPattern(tool, judged.id)) return false;
  if (plugin !== undefined && !matchesPattern(plugin, judged.pluginId)) return false;
  if (annotation !== undefined && judged.annotations[annotation] !== true) return false;
  return Object.entries(when).every(([name, expected]) => Object.hasOwn(input, name) && matchesValue(expected, input[name] ?? null));
}

function matchesValue(expected: string | number | boolean, value: Json): boolean {
  if (typeof expected !== 'string') return expected === value;
  return matchesPattern(expected, typeof value === 'string' ? value : JSON.stringify(value));
}

function ruleInWords({ tool, plugin, annotation, when = {} }: ApprovalRule): string {
  const who = [tool, plugin && `plugin ${plugin}`, annotation && `annotation ${annotation}`].filter((part) => part !== undefined).join(' and ');
  const conditions = Object.entries(when).map(([name, expected]) => `${name} ${expected}`);
  return conditions.length === 0 ? who : `${who} with ${conditions.join(' and ')}`;
}

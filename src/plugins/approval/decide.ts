import type { Agent, ApprovalDecision, ApprovalRule } from '../../contracts/agent.ts';
import type { JsonObject } from '../../contracts/json.ts';
import { matchesPattern } from '../../common/match-pattern.ts';
import { createMatcher, type ApprovalMatch } from './match-rules.ts';
import type { RegisteredTool } from '../registry/registry.ts';

export interface Decision {
  decision: ApprovalDecision;
  /** The reason, in words for a person. */
  why: string;
}

/** The fields of an agent that decide about approvals. */
export type ApprovalPolicy = Pick<Agent, 'approval' | 'requireApproval'>;
type JudgedTool = Pick<RegisteredTool, 'id' | 'pluginId' | 'requireApproval' | 'annotations'>;

const STRICTEST_FIRST: ApprovalDecision[] = ['deny', 'ask', 'allow'];
const IN_WORDS: Record<ApprovalDecision, string> = { deny: 'denied', ask: 'asked', allow: 'allowed' };

/**
 * Applies the policy to a call. Of the agent's rules that match, the strictest wins; its `requireApproval` counts as rules too. If none matches, the tool's
 * own `requireApproval` decides, or its plugin's. Without that, tools that only read are allowed and all others need approval.
 */
export function decide(policy: ApprovalPolicy, tool: JudgedTool, input: JsonObject): Decision {
  const matcher = createMatcher(tool, input);
  for (const decision of STRICTEST_FIRST) {
    const match = decision === 'allow' ? matcher.allowing(policy.approval) : matcher.strict(policy.approval, decision);
    if (match) return { decision, why: reasonOf(policy.approval, match, decision) };
    const override = decision === 'deny' ? undefined : overrideOf(policy, tool, decision === 'ask');
    if (override !== undefined) return { decision, why: `requireApproval of the agent: ${override} is ${IN_WORDS[decision]}` };
  }
  return decideByTool(tool);
}

function reasonOf(rules: ApprovalRule[], { rules: indexes, because }: ApprovalMatch, decision: ApprovalDecision): string {
  const words = indexes.flatMap((index) => rules[index] ?? []).map(ruleInWords);
  const which = `${indexes.length === 1 ? 'rule' : 'rules'} ${indexes.map((index) => index + 1).join(', ')} of the agent`;
  return `${which}: ${words.join(', ')} is ${IN_WORDS[decision]}${because === undefined ? '' : ` (${because})`}`;
}

function decideByTool({ id, requireApproval, annotations }: JudgedTool): Decision {
  if (requireApproval === true) return { decision: 'ask', why: `${id} asks for approval by its own definition` };
  if (requireApproval === false) return { decision: 'allow', why: `${id} needs no approval by its own definition` };
  if (annotations.destructiveHint) return { decision: 'ask', why: `no rule of the agent matches; ${id} may destroy something, so it needs an approval` };
  if (annotations.readOnlyHint) return { decision: 'allow', why: `no rule of the agent matches; ${id} only reads, so it is allowed` };
  return { decision: 'ask', why: `no rule of the agent matches; ${id} may change something, so it needs an approval` };
}

function overrideOf({ requireApproval }: ApprovalPolicy, { id }: JudgedTool, asks: boolean): string | undefined {
  return Object.keys(requireApproval).find((pattern) => requireApproval[pattern] === asks && matchesPattern(pattern, id));
}

function ruleInWords({ tool, plugin, annotation, when = {} }: ApprovalRule): string {
  const who = [tool, plugin && `plugin ${plugin}`, annotation && `annotation ${annotation}`].filter((part) => part !== undefined).join(' and ');
  const conditions = Object.entries(when).map(([name, expected]) => `${name} ${expected}`);
  return conditions.length === 0 ? who : `${who} with ${conditions.join(' and ')}`;
}

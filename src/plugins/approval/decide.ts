import type { Agent, ApprovalDecision, ApprovalRule, RuleDecision } from '../../contracts/agent.ts';
import type { JsonObject } from '../../contracts/json.ts';
import { matchesPattern } from '../../common/match-pattern.ts';
import { createMatcher, type ApprovalMatch } from './match-rules.ts';
import type { RegisteredTool } from '../registry/registry.ts';

export interface Decision {
  decision: ApprovalDecision;
  /** The reason, in words for a person. */
  why: string;
  /** Of `ask`: a model judges the call while it waits for a person. */
  auto?: true;
}

/** The fields of an agent that decide about approvals. */
export type ApprovalPolicy = Pick<Agent, 'approval' | 'requireApproval'>;
type JudgedTool = Pick<RegisteredTool, 'id' | 'pluginId' | 'requireApproval' | 'annotations' | 'isolation'>;

const IN_WORDS: Record<RuleDecision, string> = { deny: 'denied', ask: 'asked', auto: 'judged by a model first', allow: 'allowed' };

/**
 * Applies the policy to a call. Of the agent's rules that match, the strictest wins; its `requireApproval` counts as rules too. If none matches, the tool's
 * own `requireApproval` decides, or its plugin's. Without that, tools that only read are allowed and all others need approval.
 */
export function decide(policy: ApprovalPolicy, tool: JudgedTool, input: JsonObject): Decision {
  const matcher = createMatcher(tool, input);
  for (const decision of ['deny', 'ask'] as const) {
    const match = matcher.strict(policy.approval, decision);
    if (match) return { decision, why: reasonOf(policy.approval, match, decision) };
    const override = decision === 'deny' ? undefined : overrideOf(policy, tool, true);
    if (override !== undefined) return { decision, why: `requireApproval of the agent: ${override} is ${IN_WORDS[decision]}` };
  }
  const without = withoutJudge(policy, tool, matcher);
  // A judge is asked about what would be allowed when a rule could mean it. It stands in for a person only when rules cover all of the call.
  const match = without.decision === 'allow' ? matcher.strict(policy.approval, 'auto') : matcher.allowing(policy.approval, ['auto', 'allow']);
  return match ? judged(tool, reasonOf(policy.approval, match, 'auto')) : without;
}

function withoutJudge(policy: ApprovalPolicy, tool: JudgedTool, matcher: ReturnType<typeof createMatcher>): Decision {
  const match = matcher.allowing(policy.approval);
  if (match) return { decision: 'allow', why: reasonOf(policy.approval, match, 'allow') };
  const override = overrideOf(policy, tool, false);
  return override === undefined ? decideByTool(tool) : { decision: 'allow', why: `requireApproval of the agent: ${override} is ${IN_WORDS.allow}` };
}

/** What a tool destroys in the sandbox is the sandbox's own; of what it may destroy elsewhere, nobody knows how to bring it back. */
function judged({ id, annotations, isolation }: JudgedTool, why: string): Decision {
  if (!annotations.destructiveHint || isolation === 'container') return { decision: 'ask', why, auto: true };
  return { decision: 'ask', why: `${why}; but ${id} may destroy something outside of the sandbox, so a person decides` };
}

function reasonOf(rules: ApprovalRule[], { rules: indexes, because }: ApprovalMatch, decision: RuleDecision): string {
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

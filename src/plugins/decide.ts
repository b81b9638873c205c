import type { ApprovalDecision, ApprovalRule } from '../contracts/agent.ts';
import type { Json, JsonObject } from '../contracts/json.ts';
import { matchesPattern } from './match-pattern.ts';
import type { RegisteredTool } from './registry.ts';

export interface Decision {
  decision: ApprovalDecision;
  /** The reason, in words for a person. */
  why: string;
}

const STRICTEST_FIRST: ApprovalDecision[] = ['deny', 'ask', 'allow'];
const IN_WORDS: Record<ApprovalDecision, string> = { deny: 'denied', ask: 'asked', allow: 'allowed' };

/**
 * What the policy says about a call. The agent's rules come first, the strictest that matches wins; where none does, the tool's own
 * `requireApproval` speaks; without that, read-only tools are allowed and all others asked.
 */
export function decide(rules: ApprovalRule[], tool: Pick<RegisteredTool, 'id' | 'requireApproval' | 'annotations'>, input: JsonObject): Decision {
  for (const decision of STRICTEST_FIRST) {
    const index = rules.findIndex((rule) => rule.decide === decision && matchesRule(rule, tool.id, input));
    const rule = rules[index];
    if (rule) return { decision, why: `rule ${index + 1} of the agent: ${ruleInWords(rule)} is ${IN_WORDS[decision]}` };
  }
  if (tool.requireApproval === true) return { decision: 'ask', why: `${tool.id} asks for approval by its own definition` };
  if (tool.requireApproval === false) return { decision: 'allow', why: `${tool.id} needs no approval by its own definition` };
  if (tool.annotations.readOnlyHint) return { decision: 'allow', why: `no rule of the agent matches; ${tool.id} only reads, which is allowed` };
  return { decision: 'ask', why: `no rule of the agent matches; ${tool.id} may change something, which is asked` };
}

function matchesRule(rule: ApprovalRule, toolId: string, input: JsonObject): boolean {
  if (!matchesPattern(rule.tool, toolId)) return false;
  return Object.entries(rule.when ?? {}).every(([name, expected]) => Object.hasOwn(input, name) && matchesValue(expected, input[name] ?? null));
}

function matchesValue(expected: string | number | boolean, value: Json): boolean {
  if (typeof expected !== 'string') return expected === value;
  return matchesPattern(expected, typeof value === 'string' ? value : JSON.stringify(value));
}

function ruleInWords(rule: ApprovalRule): string {
  const conditions = Object.entries(rule.when ?? {}).map(([name, expected]) => `${name} ${expected}`);
  return conditions.length === 0 ? rule.tool : `${rule.tool} with ${conditions.join(' and ')}`;
}

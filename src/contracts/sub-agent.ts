import type { Budget } from './agent.ts';
import type { ParentSandbox } from './sub-agents/sandbox-use.ts';
import type { TurnFailure } from './client-tool.ts';
import type { ShownPlan } from './plan/plan.ts';

/** The tools with which a model gives tasks to other agents. `run` waits for the answer; `start` does not. */
export const AGENT_TOOLS = { run: 'agents:run', start: 'agents:start', wait: 'agents:wait', message: 'agents:message', stop: 'agents:stop' } as const;

export function isAgentTool(tool: string): boolean {
  return Object.values<string>(AGENT_TOOLS).includes(tool);
}

/** Whether the tool gives a task, so that a part of the budget is put aside. */
export function givesTask(tool: string): boolean {
  return tool === AGENT_TOOLS.run || tool === AGENT_TOOLS.start;
}

/** Levels of conversations below the one that a client started. */
export const MAX_AGENT_DEPTH = 3;
/** Sub-agents of one conversation that work at the same time; others wait in order. */
export const MAX_AGENTS_AT_ONCE = 8;

/** Conversations of a tree that are open at the same time, with the one that a client started; others wait in order. */
export const MAX_AGENTS_IN_TREE = 50;

/** A part of a conversation's budget that is put aside for a sub-agent. What is absent is not limited. `steps`: model calls in all turns of the task. */
export type Share = Pick<Budget, 'tokens' | 'wallTimeMs' | 'costUsd' | 'steps'>;

/** What the workflow has to know of a call that gives a task to another agent, or waits for one. */
export interface TaskCall {
  /** What it asks to put aside of the conversation's budget. */
  share?: Share;
  /** Sub-agents of the conversation may work in its sandbox. */
  sharesSandbox?: true;
  /** The call may wait for sub-agents. */
  waits?: true;
}

/** Ids of messages that say that a sub-agent has ended begin with this. */
export const NOTICE_OF_END = 'ended-';

/** What a sub-agent has used of its share, with everything that its own sub-agents have used. */
export interface Spent {
  tokens: number;
  workedMs: number;
  /** US dollars. */
  costUsd: number;
  /** Model calls of its turns. Absent in what versions report that did not count them. */
  steps?: number;
  /** A model call was made whose cost is not known. */
  unknownCost?: true;
}

/** What a call that has its result tells the workflow about tools of some kinds. */
export interface FinishedCall extends TurnFailure {
  /** By its sub-agent, which has ended. */
  spent?: Spent;
  /** The conversation of its sub-agent, which works on. */
  started?: string;
  /** The plan that it has written. */
  plan?: ShownPlan;
}

/** Where a sub-agent comes from. */
export interface Parent {
  conversationId: string;
  /** The call that gave it its task. */
  callId: string;
  /** Ids of the conversations above, from the one that a client started to the parent. */
  path: string[];
  /** Absent: a sandbox of its own. */
  sandbox?: ParentSandbox;
}

/** Tells a parent that its sub-agent has ended. */
export interface SubAgentEnd {
  callId: string;
  spent: Spent;
  /** The sandbox runs that it shared. */
  sandboxRuns?: true;
}

export interface ReportEndArgs {
  conversationId: string;
  parent: Parent;
  spent: Spent;
}

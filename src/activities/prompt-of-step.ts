import type { Agent } from '../contracts/agent.ts';
import type { CallModelArgs } from '../contracts/activities.ts';
import { isStoredMedia } from '../contracts/attachments/media.ts';
import { failure } from '../contracts/errors.ts';
import { type Compaction, MOST_COMPACTIONS, RECALL_TOOL, type StoredEntry } from '../contracts/transcript.ts';
import { wasUndone } from '../models/context/left-out.ts';
import { promptTokens, type PromptParts } from '../models/context/prompt-size.ts';
import { takesOf } from '../models/create-models.ts';
import { compactingOf } from '../models/windows.ts';
import type { ModelTool } from '../models/model.ts';
import type { Registry } from '../plugins/registry/registry.ts';
import { showOffer, type Offer } from '../tool-calls/offer/offer-tools.ts';

/** After a compaction was undone, the window may fill up to this part. */
const AFTER_UNDO = 0.95;

export interface StepPrompt extends PromptParts {
  transcript: StoredEntry[];
  tools: ModelTool[];
}

export function findAgent(agents: ReadonlyMap<string, Agent>, agentId: string): Agent {
  const agent = agents.get(agentId);
  if (agent) return agent;
  throw failure('AGENT_NOT_FOUND', {
    agent: agentId,
    known: [...agents.keys()].join(', ') || 'none',
    directory: "the workers' agents directory and restart them",
  });
}

/** Whether a conversation has the tool that reads what is left out: from its start where that can be foreseen, because tools are the beginning of every prompt. */
export function recallsIn(agent: Agent, compactions: readonly Compaction[]): boolean {
  return compactions.length > 0 || compactingOf(agent)?.window !== undefined;
}

/**
 * Whether a conversation has the tool that writes attachments into the sandbox: from its first attachment on, and then always. The tools are the beginning of every
 * prompt, so what the provider has cached is lost once at most.
 */
export function savesIn(transcript: readonly StoredEntry[]): boolean {
  return transcript.some(({ entry }) => 'content' in entry && entry.content.some(isStoredMedia));
}

export function promptOf(offer: Offer, registry: Registry, transcript: StoredEntry[], compactions: Compaction[]): StepPrompt {
  const recall = registry.get(RECALL_TOOL)?.alias ?? RECALL_TOOL;
  return { transcript, compactions, ...showOffer(offer, registry, transcript), recall, takes: takesOf(offer.agent) };
}

/** Whether the prompt has to be made smaller before the model is called. */
export function isFull(agent: Agent, args: CallModelArgs, prompt: PromptParts): boolean {
  const limit = limitOf(agent, prompt.compactions);
  return limit !== undefined && mayCompact(agent, args) && promptTokens(prompt) > limit;
}

export function mayCompact(agent: Agent, { compactions }: Pick<CallModelArgs, 'compactions'>): boolean {
  return compactions !== undefined && compactions < MOST_COMPACTIONS && compactingOf(agent) !== undefined;
}

/** Tokens that a prompt may have; undefined when the window is not known. */
function limitOf(agent: Agent, compactions: readonly Compaction[]): number | undefined {
  const { window, compactAt = 1 } = compactingOf(agent) ?? {};
  return window === undefined ? undefined : Math.floor(window * (wasUndone(compactions) ? Math.max(compactAt, AFTER_UNDO) : compactAt));
}

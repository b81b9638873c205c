import { Context } from '@temporalio/activity';
import { modelName } from '../common/model-name.ts';
import type { Agent } from '../contracts/agent.ts';
import type { PlanItem } from '../contracts/plan/plan.ts';
import type { CompactContextArgs, CompactContextResult, Compaction, ContextSummary, LeftOut, RestoreContextArgs } from '../contracts/transcript.ts';
import { withoutUndefined } from '../common/without-undefined.ts';
import { leftOutBy } from '../models/context/left-out.ts';
import { planCompaction, planCut, tokensWith, type CompactionPlan } from '../models/context/plan-compaction.ts';
import { promptTokens } from '../models/context/prompt-size.ts';
import { describeSummary } from '../models/context/summary-text.ts';
import { compactingOf, type Compacting } from '../models/windows.ts';
import { registryInConversation } from '../plugins/registry/registry-in-conversation.ts';
import type { Registry } from '../plugins/registry/registry.ts';
import type { Store } from '../store/store.ts';
import { offerTools } from '../tool-calls/offer/offer-tools.ts';
import { findAgent, promptOf, savesIn, type StepPrompt } from './prompt-of-step.ts';
import { sumUp, type SummaryParts } from './sum-up.ts';

export interface CompactionParts extends SummaryParts {
  store: Pick<Store, 'transcript' | 'compactions' | 'plans' | 'pluginStore'>;
  registry: Registry;
  agents: ReadonlyMap<string, Agent>;
}

const HEARTBEAT_MS = 500;
/** A summary is asked for only where it makes the prompt smaller by this part, beyond what else is left out. */
const WORTH = 0.1;
/** A prompt that was refused as too long has to be smaller than this part of it. */
const LESS_THAN_REFUSED = 0.75;

/**
 * Makes the activity that decides what prompts leave out from now on, and stores it. The row with the id is the decision: an attempt that finds it returns what it
 * says, and asks no model again.
 */
export function createCompactContext(parts: CompactionParts) {
  return async function compactContext(args: CompactContextArgs): Promise<CompactContextResult> {
    const context = Context.current();
    const heartbeat = setInterval(() => context.heartbeat(), HEARTBEAT_MS);
    try {
      return await compact(parts, args);
    } finally {
      clearInterval(heartbeat);
    }
  };
}

/** Makes the activity that undoes the newest compaction. */
export function createRestoreContext({ store }: Pick<CompactionParts, 'store'>) {
  return async function restoreContext({ conversationId, requestId }: RestoreContextArgs): Promise<void> {
    const told = ({ compactionId }: Compaction) => ({ type: 'context.restored' as const, data: { compactionId }, key: `context.restored/${requestId}` });
    await store.compactions.undo(conversationId, told);
  };
}

async function compact(parts: CompactionParts, args: CompactContextArgs): Promise<CompactContextResult> {
  const { store } = parts;
  const { conversationId, compactionId } = args;
  const agent = findAgent(parts.agents, args.agentId);
  const [transcript, compactions] = await Promise.all([store.transcript.current(conversationId), store.compactions.list(conversationId)]);
  const made = compactions.find((compaction) => compaction.compactionId === compactionId);
  if (made) return resultOf(made);
  const compacting = compactingOf(agent);
  const newest = transcript.at(-1);
  if (!compacting || !newest) return { changed: false };
  const registry = await registryInConversation(parts, agent, args);
  const prompt = promptOf(await offerTools({ ...parts, registry }, args, agent, true, savesIn(transcript)), registry, transcript, compactions);
  const tokensBefore = promptTokens(prompt);
  const { leftOut, usage } = await choose(parts, args, { agent, compacting, prompt, tokensBefore });
  if (Object.keys(leftOut).length === 0) return { changed: false };
  const compaction = { compactionId, afterSeq: newest.seq, reason: args.reason, leftOut, tokensBefore, tokensAfter: tokensWith(prompt, leftOut) };
  const { turnId = newest.turnId } = args;
  const event = { type: 'context.compacted' as const, turnId, data: told(compaction, prompt.recall), key: `context.compacted/${compactionId}` };
  const added = await store.compactions.add({ conversationId, turnId, model: modelName(agent) }, { ...compaction, ...(usage && { usage }) }, event);
  // Another attempt, which was thought dead, has stored its own meanwhile: what that used was counted.
  const counts = added ? undefined : (await store.compactions.list(conversationId)).find((other) => other.compactionId === compactionId);
  return resultOf(counts ?? (usage ? { usage } : {}));
}

interface Situation {
  agent: Agent;
  compacting: Compacting;
  prompt: StepPrompt;
  tokensBefore: number;
}

async function choose(
  parts: CompactionParts,
  args: CompactContextArgs,
  { agent, compacting, prompt, tokensBefore }: Situation,
): Promise<{ leftOut: LeftOut; usage?: Compaction['usage'] }> {
  const { reason, before } = args;
  const { window, compactAt, keepTurns } = compacting;
  const byWish = reason === 'operator';
  const whole = window === undefined ? tokensBefore : window * compactAt;
  const limit = byWish ? whole : Math.min(whole, tokensBefore);
  const goal = { tokens: Math.floor(limit / 2 ** (before + 1)), keepTurns: byWish ? 1 : keepTurns, all: byWish || before > 0 };
  const plan = planCompaction(prompt, goal);
  const { leftOut, usage } = await withSummary(parts, args, plan, { agent, compacting, prompt, tokensBefore });
  const most = reason === 'full' ? limit : Math.floor(limit * LESS_THAN_REFUSED ** (before + 1));
  const tooLong = !byWish && tokensWith(prompt, leftOut) > most;
  const cut = tooLong ? planCut(prompt, leftOut, Math.floor(most * LESS_THAN_REFUSED)) : leftOut;
  // What was paid for is stored in any case.
  if (usage) return { leftOut: cut, usage };
  return { leftOut: tokensWith(prompt, cut) < tokensBefore ? cut : {} };
}

async function withSummary(
  parts: CompactionParts,
  args: CompactContextArgs,
  { leftOut, summaryTo }: CompactionPlan,
  { agent, compacting, prompt, tokensBefore }: Situation,
): Promise<{ leftOut: LeftOut; usage?: Compaction['usage'] }> {
  if (summaryTo === undefined) return { leftOut };
  const empty = { to: summaryTo, by: 'digest', goal: '', constraints: [], decisions: '', files: '', openWork: '' } as const;
  const least = tokensWith(prompt, { ...leftOut, summary: { ...empty, constraints: [] } });
  if (tokensWith(prompt, leftOut) - least < tokensBefore * WORTH) return { leftOut };
  const window = compacting.window ?? tokensBefore;
  const source = { transcript: prompt.transcript, to: summaryTo, previous: leftOutBy(prompt.compactions).summary, window };
  const { summary, usage } = await sumUp(parts, args, { agent, source });
  const plan = (await parts.store.plans.newest(args.conversationId)) ?? [];
  return { leftOut: { ...leftOut, summary: withPlan(summary, plan) }, ...(usage && { usage }) };
}

/** The plan of an earlier summary does not count any more. */
function withPlan(summary: ContextSummary, plan: PlanItem[]): ContextSummary {
  return withoutUndefined({ ...summary, plan: plan.length > 0 ? plan : undefined });
}

function resultOf({ usage }: Pick<Compaction, 'usage'>): CompactContextResult {
  return { changed: true, ...(usage && { usage }) };
}

function told({ compactionId, reason, leftOut, tokensBefore, tokensAfter }: Omit<Compaction, 'at'>, recall: string) {
  const { outputsTo, summary, cut } = leftOut;
  const stage = cut ? 'cut' : summary ? 'summary' : 'outputs';
  const about = withoutUndefined({ outputsTo, summaryTo: summary?.to, summary: summary && describeSummary(summary, recall) });
  return { compactionId, reason, stage, ...about, tokensBefore, tokensAfter };
}

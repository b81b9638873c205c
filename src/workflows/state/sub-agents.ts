import type { SendMessageArgs } from '../../contracts/conversation.ts';
import { AGENT_TOOLS, MAX_AGENTS_AT_ONCE, NOTICE_OF_END, type Share, type Spent, type TaskCall } from '../../contracts/sub-agent.ts';
import { isShared as isSharedUse, type OfferLimits } from '../../contracts/sub-agents/sandbox-use.ts';
import { roundUsd } from '../../contracts/usage.ts';
import { sharedParts } from './budget-state.ts';
import type { ConversationData } from './conversation-data.ts';

const KINDS = ['tokens', 'wallTimeMs', 'costUsd', 'steps'] as const;

/** What is put aside for the sub-agent of a call; undefined while it waits, and when it has ended. */
export function shareOf({ subAgents }: ConversationData, wanted: string): Share | undefined {
  return subAgents.find(({ callId }) => callId === wanted)?.share;
}

/** Adds the sub-agent of a call behind those that wait. It may begin when it has a share. */
export function addSubAgent(data: ConversationData, { callId, share = {}, sharesSandbox }: Asking, nowMs: number): void {
  if (data.subAgents.some((known) => known.callId === callId)) return;
  data.subAgents.push({ callId, asked: share, ...(sharesSandbox && { sharesSandbox }) });
  admitSubAgents(data, nowMs);
}

type Asking = { callId: string } & Pick<TaskCall, 'share' | 'sharesSandbox'>;

/** Whether sub-agents may work in the sandbox of the conversation: it has to stay where they find it. */
export function isShared({ subAgents }: ConversationData): boolean {
  return subAgents.some(({ sharesSandbox }) => sharesSandbox === true);
}

/** Whether the conversation works in the sandbox of another one, which decides what becomes of it. */
export function isGuest({ parent }: ConversationData): boolean {
  return isSharedUse(parent?.sandbox?.use);
}

/** What bounds the tools that its model is offered. */
export function offerLimits({ limits, parent }: ConversationData): OfferLimits {
  const sandboxUse = parent?.sandbox?.use;
  return { ...(limits.unattended && { unattended: true }), ...(sandboxUse !== undefined && { sandboxUse }) };
}

/** The sub-agent of a call has a place in the tree of conversations. */
export function placeSubAgent(data: ConversationData, placed: unknown): void {
  const live = data.subAgents.find(({ callId }) => callId === placed);
  if (live && !data.placedAgents.includes(live.callId)) data.placedAgents.push(live.callId);
}

/** The conversation of a call's sub-agent exists. */
export function noteStarted(data: ConversationData, started: string, conversationId: string): void {
  const live = data.subAgents.find(({ callId }) => callId === started);
  if (live) live.conversationId = conversationId;
}

/** No call waits for the sub-agent any more. */
export function leaveInBackground(data: ConversationData, left: string, conversationId: string): void {
  noteStarted(data, left, conversationId);
  const live = data.subAgents.find(({ callId }) => callId === left);
  if (live) live.inBackground = true;
}

/**
 * A sub-agent has ended: what it spent counts, and the rest of its share is free again. Does nothing when this is known. Returns the message that the
 * conversation gets about one that no call waits for.
 */
export function endSubAgent(data: ConversationData, ended: string, spent: Spent, nowMs: number): SendMessageArgs | undefined {
  const live = data.subAgents.find(({ callId }) => callId === ended);
  if (!live) return undefined;
  data.subAgents = data.subAgents.filter((other) => other !== live);
  data.tokensUsed += spent.tokens;
  data.workedMs += spent.workedMs;
  data.stepsTaken += spent.steps ?? 0;
  if (spent.costUsd > 0) data.costUsd = roundUsd((data.costUsd ?? 0) + spent.costUsd);
  if (spent.unknownCost && data.limits.budget.costUsd !== undefined) data.unknownCost = true;
  admitSubAgents(data, nowMs);
  const { inBackground, conversationId } = live;
  if (!inBackground || conversationId === undefined || data.awaitedAgents.includes(conversationId)) return undefined;
  return {
    messageId: `${NOTICE_OF_END}${ended}`,
    text: `The agent ${conversationId}, to which you gave a task, has ended. Read its answer with ${AGENT_TOOLS.wait}.`,
  };
}

/**
 * Gives shares to those that wait, in order: as many as may work at once, and only while something is left. When none works, the first of them gets its
 * share in any case, so that it is told when nothing is left.
 */
function admitSubAgents(data: ConversationData, nowMs: number): void {
  for (const waiting of data.subAgents) {
    if (waiting.share) continue;
    const atWork = data.subAgents.filter(({ share }) => share).length;
    const share = shareFor(waiting.asked, sharedParts(data, nowMs));
    if (atWork >= MAX_AGENTS_AT_ONCE || (atWork > 0 && isUsedUp(share))) return;
    waiting.share = share;
  }
}

/** What was asked for, and no more than is left. Who asks for nothing gets an eighth of the whole, so that eight can work at the same time. */
function shareFor(asked: Share, parts: ReturnType<typeof sharedParts>): Share {
  const share: Share = {};
  for (const kind of KINDS) {
    const part = parts[kind];
    const most = asked[kind] ?? (part && eighthOf(kind, part.limit));
    if (most !== undefined) share[kind] = Math.max(0, Math.min(most, part?.left ?? Infinity));
  }
  return share;
}

function eighthOf(kind: keyof Share, limit: number): number {
  const eighth = limit / MAX_AGENTS_AT_ONCE;
  if (kind === 'costUsd') return roundUsd(eighth);
  // A task of no steps would be none.
  return kind === 'steps' ? Math.max(1, Math.floor(eighth)) : Math.floor(eighth);
}

function isUsedUp(share: Share): boolean {
  return Object.values(share).some((amount) => amount <= 0);
}

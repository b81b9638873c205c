import { condition } from '@temporalio/workflow';
import type { ProposedCall } from '../contracts/activities.ts';
import { attachCall, isToLeave, type AttachEnd, type Round } from './attach-call.ts';
import { startWork, stopWork } from './state/budget-state.ts';
import { mustEnd } from './state/conversation-state.ts';
import { pauseIsDue } from './state/pause-state.ts';
import { hasPlace } from './state/place-state.ts';
import { restWhilePaused } from './pause.ts';
import { rest } from './rest.ts';
import type { RunningConversation } from './running.ts';
import type { StepPlace } from './settle.ts';
import { untilAdmitted, untilReady } from './sub-agents.ts';
import { giveBackPlace } from './turn-place.ts';

/** Attaches to a call of an agent tool, and again when the sub-agents that it waits for have ended. `detached` when the turn has to end before, or a new run should wait. */
export async function followSubAgent(running: RunningConversation, place: StepPlace, call: ProposedCall, round: Round): Promise<AttachEnd> {
  const { data } = running;
  const leaves = () => isToLeave(running, round);
  if (call.share) await untilAdmitted(running, call, leaves);
  if (leaves()) return { outcome: 'detached', sandboxTier: data.sandboxTier };
  for (;;) {
    await condition(() => mustEnd(data) || !pauseIsDue(data, 'call'));
    if (mustEnd(data)) return { outcome: 'detached', sandboxTier: data.sandboxTier };
    const end = await attachCall(running, place, call, round);
    if (end.outcome === 'suspended') {
      await untilReady(running, call, end, leaves);
      if (leaves()) return { outcome: 'detached', sandboxTier: data.sandboxTier };
    } else if (end.outcome !== 'detached' && end.outcome !== 'cancelled') return end;
  }
}

/**
 * Waits for work, and lets the sandbox rest while all of its calls wait for sub-agents or clients. The turn gives its place back meanwhile: a turn that has one never
 * waits for another turn.
 */
export async function restingMeanwhile<T>(running: RunningConversation, work: Promise<T>): Promise<T> {
  let over = false;
  const resting = restBetween(running, () => over);
  try {
    return await work;
  } finally {
    over = true;
    await resting;
  }
}

async function restBetween(running: RunningConversation, isOver: () => boolean): Promise<void> {
  const { data } = running;
  const attached = () => data.runningCalls.length > 0;
  const interrupted = () => isOver() || mustEnd(data);
  await condition(() => interrupted() || attached());
  for (;;) {
    await condition(() => interrupted() || !attached());
    if (interrupted()) return;
    if (pauseIsDue(data, 'call')) {
      await restWhilePaused(running, 'call', isOver);
      continue;
    }
    stopWork(data, Date.now());
    await running.save();
    if (hasPlace(data) && !attached()) await giveBackPlace(running);
    await rest(running, () => interrupted() || pauseIsDue(data, 'call') || attached());
    if (!data.paused) startWork(data, Date.now());
  }
}

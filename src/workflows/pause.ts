import { patched } from '@temporalio/workflow';
import { freezeSandbox, wakeSandbox } from './activities.ts';
import { startWork } from './state/budget-state.ts';
import { mustEnd } from './state/conversation-state.ts';
import { enterPause, pauseIsDue } from './state/pause-state.ts';
import { hasPlace } from './state/place-state.ts';
import { changeTier, rest } from './rest.ts';
import type { RunningConversation } from './running.ts';
import { isShared } from './state/sub-agents.ts';
import { giveBackPlace } from './turn-place.ts';

/** Patch id. Before it, a sandbox that a rewind had woken during a pause ran until the end of the pause. */
const RESTS_AFTER_REWIND = 'rests-after-rewind';

/**
 * Rests while a pause is due at this moment (`step`: between steps; `call`: during a step, where only a pause `now` counts).
 * Returns when the pause is over, or when the turn has to end; the conversation may then still be paused.
 */
export async function restWhilePaused(running: RunningConversation, moment: 'step' | 'call', until: () => boolean = () => false): Promise<void> {
  const { data } = running;
  const rewound = () => data.rewound === true && patched(RESTS_AFTER_REWIND);
  const ended = () => until() || mustEnd(data) || (moment === 'step' && data.turn?.ending !== undefined);
  let woken = false;
  while (pauseIsDue(data, moment) && !ended()) {
    const froze: boolean = (await beginPause(running)) || woken;
    delete data.rewound;
    await rest(running, () => data.paused === undefined || ended() || rewound());
    woken = froze && rewound();
    const asleep = ['frozen', 'hibernated', 'stopped', 'archived'].includes(data.sandboxTier);
    if (asleep && !ended() && (froze || data.turn)) await changeTier(running, () => wakeSandbox('resume', data));
    if (data.turn) startWork(data, Date.now());
    await running.save();
  }
}

/** Turns a requested pause into a pause, saves the status, and for a pause `now` freezes the sandbox. Others may run meanwhile. Returns whether it was a pause `now`. */
export async function beginPause(running: RunningConversation): Promise<boolean> {
  const { data } = running;
  const wish = enterPause(data, Date.now());
  if (wish === undefined) return false;
  if (wish.mode === 'now' && (data.sandboxTier === 'running' || isShared(data))) await freezeForPause(running);
  await running.save();
  if (hasPlace(data)) await giveBackPlace(running);
  return wish.mode === 'now';
}

/** Freezes the sandbox for a pause `now`. */
export function freezeForPause(running: RunningConversation): Promise<void> {
  return changeTier(running, () => freezeSandbox('pause', running.data));
}

import { condition } from '@temporalio/workflow';
import type { ProposedCall } from '../contracts/activities.ts';
import type { TimeLeft } from '../contracts/client-tool.ts';
import { attachCall, isToLeave, type AttachEnd, type Round } from './attach-call.ts';
import { beginAttach, beginWait, closeClientCall, isAnswered, openClientCall } from './state/client-calls.ts';
import { mustEnd } from './state/conversation-state.ts';
import { pauseIsDue } from './state/pause-state.ts';
import { patience } from './move-on.ts';
import type { RunningConversation } from './running.ts';
import type { StepPlace } from './settle.ts';

/** The report of a result is lost when its client dies at that moment. The first look comes early, and the later ones ever more seldom. Milliseconds. */
const FIRST_LOOK_MS = 15_000;
const LAST_LOOKS_MS = 60 * 60_000;
/** The clock of the database decides whether the time of a call is over, and a timer may be a little early. Milliseconds. */
const LEAST_MS = 100;

/** Attaches to a call that a client runs, and again when the client has answered or the time of the call is over. `detached` when the turn has to end before, or a new run should wait. */
export async function followClientTool(running: RunningConversation, place: StepPlace, call: ProposedCall, round: Round): Promise<AttachEnd> {
  const { data } = running;
  const leaves = () => isToLeave(running, round);
  openClientCall(data, call);
  try {
    for (let looks = 0; ; looks += 1) {
      await condition(() => mustEnd(data) || !pauseIsDue(data, 'call'));
      if (mustEnd(data)) return { outcome: 'detached', sandboxTier: data.sandboxTier };
      beginAttach(data, call.callId);
      const end = await attachCall(running, place, call, round);
      if (end.outcome === 'suspended') {
        await untilAnswered(running, call, { ...end.client, looks }, leaves);
        if (leaves()) return { outcome: 'detached', sandboxTier: data.sandboxTier };
      } else if (end.outcome !== 'detached' && end.outcome !== 'cancelled') return end;
    }
  } finally {
    closeClientCall(data, call.callId);
    running.show();
  }
}

/** Waits until a client has answered, until it is time for another look (`looks`: how many there were), until the time of the call is over, until `isOver`, or until the turn has to end. */
export async function untilAnswered(
  running: RunningConversation,
  { callId }: ProposedCall,
  { leftMs, looks = 0 }: TimeLeft & { looks?: number } = {},
  isOver: () => boolean = () => false,
): Promise<void> {
  const { data } = running;
  beginWait(data, callId, leftMs === undefined ? undefined : Date.now() + leftMs);
  running.show();
  const waitsMs = Math.max(LEAST_MS, Math.min(LAST_LOOKS_MS * patience(), FIRST_LOOK_MS * 2 ** looks, leftMs ?? Infinity));
  await condition(() => mustEnd(data) || isAnswered(data, callId) || isOver(), waitsMs, { summary: 'a client has this long' });
}

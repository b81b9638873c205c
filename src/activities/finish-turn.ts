import type { FinishTurnArgs } from '../contracts/activities.ts';
import { outputOf, parseAnswer, type OutputOfTurn } from '../contracts/output.ts';
import { saidIn } from '../contracts/transcript.ts';
import type { NewEvent, Store } from '../store/store.ts';
import { onceEach } from '../tool-calls/results/once-each.ts';
import { settleInterrupted } from '../tool-calls/results/settle-call.ts';
import type { TurnPlaceDesk } from './places/turn-places.ts';
import { proposeLeft } from './step/propose-left.ts';
import { keyOfEnd } from './step/store-answer.ts';

/** Ends a turn in events and status. Its place is then free for another one. */
export function createFinishTurn({ store, desk }: { store: Store; desk: Pick<TurnPlaceDesk, 'leave'> }) {
  return async function finishTurn({ conversationId, turnId, outcome, message, answeredIn, endedIn, counted, backup, eventsOf, status }: FinishTurnArgs) {
    if (endedIn !== undefined) for (const call of await proposeLeft(store, { conversationId, turnId, stepId: endedIn })) await settleInterrupted(store, call);
    const output = answeredIn === undefined ? {} : await outputIn(conversationId, answeredIn);
    const data = { outcome, ...(message !== undefined && { message }), ...output };
    const finished: NewEvent = { type: 'turn.finished', turnId, data };
    await store.conversations.saveStatus(status, eventsOf === 'turn' ? [{ ...finished, key: keyOfEnd(turnId) }] : onceEach([finished]));
    if (backup) await store.backups.want(conversationId);
    if (counted) await desk.leave({ conversationId, turnId }, 'ends');
  };

  /** The value of an answer that was checked when it came. */
  async function outputIn(conversationId: string, stepId: string): Promise<OutputOfTurn | undefined> {
    const answer = await store.transcript.answerOf(conversationId, stepId);
    const parsed = parseAnswer(answer ? saidIn(answer) : '');
    return 'value' in parsed ? outputOf(parsed.value) : undefined;
  }
}

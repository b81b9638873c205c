import type { FinishTurnArgs } from '../contracts/activities.ts';
import { outputOf, parseAnswer, type OutputOfTurn } from '../contracts/output.ts';
import { saidIn } from '../contracts/transcript.ts';
import type { Store } from '../store/store.ts';
import { onceEach } from '../tool-calls/results/once-each.ts';
import type { TurnPlaceDesk } from './places/turn-places.ts';

/** Ends a turn in events and status. Its place is then free for another one. */
export function createFinishTurn({ store, desk }: { store: Store; desk: Pick<TurnPlaceDesk, 'leave'> }) {
  return async function finishTurn({ conversationId, turnId, outcome, message, answeredIn, counted, backup, status }: FinishTurnArgs): Promise<void> {
    const output = answeredIn === undefined ? {} : await outputIn(conversationId, answeredIn);
    const data = { outcome, ...(message !== undefined && { message }), ...output };
    await store.conversations.saveStatus(status, onceEach([{ type: 'turn.finished', turnId, data }]));
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

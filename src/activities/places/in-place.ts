import { Context } from '@temporalio/activity';
import { inTime } from '../../common/in-time.ts';
import type { CallModelArgs, CallModelResult } from '../../contracts/activities.ts';
import type { PlaceAnswer } from '../../contracts/places/turn-place.ts';
import type { Logger } from '../../platform/log.ts';
import type { Store } from '../../store/store.ts';
import { placeCaller } from './place-caller.ts';
import type { TurnPlaceDesk } from './turn-places.ts';

/** Shorter than the time in which a model call has to heartbeat. */
const PATIENCE_MS = 4_000;

interface PlaceParts {
  desk: Pick<TurnPlaceDesk, 'ask'>;
  store: { transcript: Pick<Store['transcript'], 'answerOf'> };
  log: Logger;
}

/**
 * A model call that first asks whether its turn may run: no activity more where it may. What fails is left to `askForPlace`, which is tried without an end; a model
 * call is not. A later attempt is tried again instead: an earlier one may have stored the answer of this step, and the turn goes on with another step after it has waited.
 */
export function inPlace(
  callModel: (args: CallModelArgs) => Promise<CallModelResult>,
  { desk, store, log }: PlaceParts,
): (args: CallModelArgs) => Promise<CallModelResult> {
  return async (args) => {
    if (!args.place) return callModel(args);
    const { conversationId, turnId, tenantId, agentId, stepId, place: more } = args;
    let place: PlaceAnswer;
    try {
      place = await inTime(
        desk.ask({ conversationId, turnId, tenantId, agentId, ...more }, placeCaller()),
        PATIENCE_MS,
        () => new Error(`it took longer than ${PATIENCE_MS} ms`),
      );
      // An earlier attempt has the answer: its call is over, and only its outcome is lost.
      if (place.outcome === 'waits' && !(await store.transcript.answerOf(conversationId, stepId))) return { outcome: 'waits', waits: place.waits };
    } catch (error) {
      if (Context.current().info.attempt > 1) throw error;
      log.warn({ conversationId, turnId, err: error }, 'a place for a turn could not be asked for yet');
      return { outcome: 'waits' };
    }
    const result = await callModel(args);
    return place.outcome === 'unlimited' ? result : { ...result, counted: true };
  };
}

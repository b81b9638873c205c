import type { WaitsForPlace } from '../contracts/places/turn-place.ts';
import { askForPlace, leavePlace } from './activities.ts';
import { startWork, stopWork } from './state/budget-state.ts';
import type { Turn } from '../contracts/conversation-run.ts';
import type { ConversationData } from './state/conversation-data.ts';
import { mustEnd } from './state/conversation-state.ts';
import { pauseIsDue } from './state/pause-state.ts';
import { placeOf, standInLine } from './state/place-state.ts';
import { rest } from './rest.ts';
import type { RunningConversation } from './running.ts';

/** The news of a place may be lost. The first look comes early, and the later ones ever more seldom. Milliseconds. */
const FIRST_LOOK_MS = 60_000;
const LAST_LOOKS_MS = 30 * 60_000;

/** Gives the place of the turn back, because the turn waits for somebody else. Only for a turn that has one. */
export async function giveBackPlace({ data }: RunningConversation): Promise<void> {
  const { turn } = data;
  if (!turn) return;
  turn.away = true;
  await leavePlace(nameOf(data, turn));
}

/**
 * Waits in the line until the turn has its place again, or until a pause is due, the turn has to end, or `isOver`; then it stands in the line no more. Only for a
 * turn that is away. `told`: what it was told when it asked, if it has.
 */
export async function regainPlace(
  running: RunningConversation,
  moment: 'step' | 'call',
  isOver: () => boolean = () => false,
  told?: WaitsForPlace,
): Promise<void> {
  const { data } = running;
  const { turn } = data;
  if (!turn) return;
  const stops = () => isOver() || mustEnd(data) || pauseIsDue(data, moment);
  let waits = told;
  for (let looks = 0; !stops(); looks += 1) {
    waits ??= await ask(data, turn);
    if (!waits) {
      delete turn.away;
      break;
    }
    await wait(running, turn, waits, looks, stops);
    waits = undefined;
  }
  if (turn.away && !mustEnd(data)) await leavePlace(nameOf(data, turn));
  if (!turn.waits) return;
  delete turn.waits;
  if (!data.paused) startWork(data, Date.now());
  await running.save();
}

/** Undefined: it has its place, or needs none any more. */
async function ask(data: ConversationData, turn: Turn): Promise<WaitsForPlace | undefined> {
  delete turn.placed;
  const { tenantId, agentId } = data;
  const answer = await askForPlace({ ...nameOf(data, turn), tenantId, agentId, ...placeOf(data) });
  return answer.outcome === 'waits' ? answer.waits : undefined;
}

async function wait(running: RunningConversation, turn: Turn, waits: WaitsForPlace, looks: number, stops: () => boolean): Promise<void> {
  const { data } = running;
  standInLine(data, turn, waits);
  stopWork(data, Date.now());
  await running.save();
  const atMs = Date.now() + Math.min(LAST_LOOKS_MS, FIRST_LOOK_MS * 2 ** looks);
  await rest(running, () => turn.placed === true || stops(), { atMs, summary: 'look for a free place' });
}

function nameOf({ conversationId }: ConversationData, { turnId }: Turn): { conversationId: string; turnId: string } {
  return { conversationId, turnId };
}

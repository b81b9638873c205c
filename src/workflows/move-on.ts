import { allHandlersFinished, condition, patched, workflowInfo } from '@temporalio/workflow';
import type { OpenStep } from '../contracts/conversation-run.ts';
import type { RunningConversation } from './running.ts';
import type { ConversationData } from './state/conversation-data.ts';
import { carryConversation, mustEnd } from './state/conversation-state.ts';
import { pauseIsDue } from './state/pause-state.ts';

/** Patch id. Runs that began before it take a turn to its end, whatever that adds to their history. */
const MOVES_WITHIN_TURN = 'moves-within-turn';
/** Of 51 200 events and 50 MiB, after which Temporal ends a workflow. */
const VERY_LONG = { events: 15_000, bytes: 15 * 1024 * 1024 };
/** Temporal takes 2 MiB as the input of a run. Bytes of JSON. */
const MOST_CARRIED = 1_900_000;

/** Whether the history of this run is so long that its turn should go on in a new run: Temporal ends a workflow whose history is too long. */
export function isLong(): boolean {
  return workflowInfo().continueAsNewSuggested && patched(MOVES_WITHIN_TURN);
}

/** Whether the history of this run is so long that its turn holds back new work until it can go on in a new run. */
export function isVeryLong(): boolean {
  const { historyLength, historySize } = workflowInfo();
  return (historyLength > VERY_LONG.events || historySize > VERY_LONG.bytes) && isLong();
}

/**
 * How many times longer a run should wait between two looks at what it waits for. A look only finds what was not reported, which is rare, and code that waits for
 * clients or sub-agents cannot go on in a new run: it may wait for months.
 */
export function patience(): number {
  if (isVeryLong()) return 48;
  return isLong() ? 6 : 1;
}

/**
 * Whether a turn whose history is long goes on in a new run; asked where nothing runs for the turn. Waits until nothing is under way that the next run would not
 * know of. False when the turn has to pause or to end first, and when its state is too large for now.
 */
export async function movesOn(running: RunningConversation, moment: 'step' | 'call', openStep?: OpenStep): Promise<boolean> {
  await running.save();
  await condition(() => mustStop(running, moment) || isSettled(running));
  return !mustStop(running, moment) && bytesToCarry(running.data, openStep) <= MOST_CARRIED;
}

function bytesToCarry(data: ConversationData, openStep: OpenStep | undefined): number {
  return new TextEncoder().encode(JSON.stringify([carryConversation(data), openStep])).length;
}

/** Whether the turn has to pause or to end here. */
export function mustStop({ data }: RunningConversation, moment: 'step' | 'call'): boolean {
  return mustEnd(data) || pauseIsDue(data, moment) || (moment === 'step' && data.turn?.ending !== undefined);
}

/** Whether nothing is under way that the next run would not know of. */
export function isSettled(running: RunningConversation): boolean {
  return allHandlersFinished() && running.isSaved() && running.hasPassedOnPauses();
}

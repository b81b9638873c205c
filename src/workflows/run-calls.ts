import type { ProposedCall } from '../contracts/activities.ts';
import { abandon, attach, settleEnd, type AttachEnd, type Round } from './attach-call.ts';
import { mustEnd, pauseIsDue } from './conversation-state.ts';
import { restWhilePaused } from './pause.ts';
import { followScript } from './run-script.ts';
import type { RunningConversation } from './running.ts';
import type { StepPlace } from './settle.ts';

/** Runs a step's calls: neighbours that only read run side by side, all others one after the other. Returns the calls that finished without an error. */
export async function runCalls(running: RunningConversation, place: StepPlace, calls: ProposedCall[]): Promise<ProposedCall[]> {
  const succeeded: ProposedCall[] = [];
  for (const batch of batches(calls)) succeeded.push(...(await runBatch(running, place, batch)));
  return succeeded;
}

function batches(calls: ProposedCall[]): ProposedCall[][] {
  const all: ProposedCall[][] = [];
  for (const call of calls) {
    const last = all.at(-1);
    if (call.readOnly && last?.[0]?.readOnly) last.push(call);
    else all.push([call]);
  }
  return all;
}

/** Attaches to every call of a batch until each has its result; calls let go of by a pause are attached again afterwards. */
async function runBatch(running: RunningConversation, place: StepPlace, batch: ProposedCall[]): Promise<ProposedCall[]> {
  const { data } = running;
  const succeeded: ProposedCall[] = [];
  const started = new Set<string>();
  for (let waiting = batch; waiting.length > 0;) {
    if (pauseIsDue(data, 'call')) await restWhilePaused(running, 'call');
    if (mustEnd(data)) {
      await Promise.all(waiting.map((call) => abandon(running, place, call, started.has(call.callId))));
      return succeeded;
    }
    for (const { callId } of waiting) started.add(callId);
    const ends = await attachAll(running, place, waiting);
    const detached: ProposedCall[] = [];
    for (const [call, end] of ends) {
      if (end.outcome === 'finished' && !end.isError) succeeded.push(call);
      if (end.outcome === 'detached' || (end.outcome === 'cancelled' && !mustEnd(data))) detached.push(call);
      else await settleEnd(running, place, call, end);
    }
    data.detachedCalls = detached.length;
    waiting = detached;
  }
  return succeeded;
}

/** Attaches to calls side by side; what a pause `now` freezes meanwhile is frozen when this returns. */
async function attachAll(running: RunningConversation, place: StepPlace, calls: ProposedCall[]): Promise<[ProposedCall, AttachEnd][]> {
  const round: Round = {};
  const ends = await all(calls.map((call) => attachToEnd(running, place, call, round)));
  if (round.freezing) await round.freezing;
  return ends;
}

/** Code that waits for calls of its own is attached to again until it has ended, or has been let go of before it made any. */
async function attachToEnd(running: RunningConversation, place: StepPlace, call: ProposedCall, round: Round): Promise<[ProposedCall, AttachEnd]> {
  const end = await attach(running, place, call, round);
  return [call, end.outcome === 'suspended' ? await followScript(running, place, call, end.calls) : end];
}

/** As `Promise.all`, without the promises that it makes of its own for a single one, the usual case: the SDK takes a stack trace for every promise. */
function all<T>(promises: Promise<T>[]): Promise<T[]> {
  const [only, ...others] = promises;
  return only && others.length === 0 ? only.then((value) => [value]) : Promise.all(promises);
}

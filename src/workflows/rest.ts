import { ActivityFailure, condition, log, patched } from '@temporalio/workflow';
import type { SandboxActionResult } from '../contracts/activities.ts';
import type { SandboxTier } from '../contracts/conversation.ts';
import { archiveSandbox, freezeSandbox, hibernateSandbox, stopSandbox } from './activities.ts';
import type { RunningConversation } from './running.ts';
import type { ConversationData } from './state/conversation-data.ts';
import { isGuest, isShared } from './state/sub-agents.ts';

/** A time at which `rest` stops waiting. */
export interface Deadline {
  atMs: number;
  /** For the Temporal UI. */
  summary: string;
}
/** Patch id. Before it, a rest without a time limit did not notice that a sub-agent had ended. */
const REST_ANEW = 'rest-anew';

interface Rung {
  afterMs: number;
  from: SandboxTier[];
  /** It ends what runs in the sandbox, or takes it from its place: not while sub-agents may work in it. */
  ends?: true;
  summary: string;
  act: () => Promise<SandboxActionResult>;
}

/**
 * Waits until `done`, or until the deadline. Meanwhile, an idle sandbox moves to lower tiers: frozen, hibernated, stopped, then archived. It is not stopped
 * while a paused command waits in it, because that would end the command.
 */
export async function rest(running: RunningConversation, done: () => boolean, deadline?: Deadline): Promise<'done' | 'deadline'> {
  const { data } = running;
  delete data.guestEnded;
  let startedMs = Date.now();
  let rungs = ladder(running);
  for (;;) {
    if (done()) return 'done';
    const rung = nextRung(data, rungs);
    const alarms: Deadline[] = [...(rung ? [{ atMs: startedMs + rung.afterMs, summary: rung.summary }] : []), ...(deadline ? [deadline] : [])];
    const next = alarms.reduce<Deadline | undefined>((first, alarm) => (first === undefined || alarm.atMs < first.atMs ? alarm : first), undefined);
    const end = await waiting(done, () => needsRest(running), next);
    if (end === 'done') return 'done';
    if (end === 'changed') {
      // The sub-agent has used the sandbox until now.
      data.sandboxTier = tierLeft(data);
      delete data.guestEnded;
      startedMs = Date.now();
      rungs = ladder(running);
      continue;
    }
    if (next === deadline) return 'deadline';
    if (rung === undefined) continue;
    rungs.splice(rungs.indexOf(rung), 1);
    await changeTier(running, rung.act);
    await running.save();
  }
}

function nextRung(data: ConversationData, rungs: Rung[], tier = data.sandboxTier): Rung | undefined {
  return rungs.find(({ afterMs, from, ends }) => afterMs > 0 && from.includes(tier) && !(ends && isShared(data)));
}

/** A sub-agent that shared the sandbox has ended, and there is something to be done about the sandbox. */
function needsRest(running: RunningConversation): boolean {
  const { data } = running;
  return data.guestEnded !== undefined && nextRung(data, ladder(running), tierLeft(data)) !== undefined;
}

/** A change that was under way when a sub-agent ended does not know of what that one has done. */
function tierLeft({ guestEnded, sandboxTier }: ConversationData): SandboxTier {
  return guestEnded === 'running' ? 'running' : sandboxTier;
}

/** `changed`: by the end of a sub-agent, so that it has to rest anew. */
async function waiting(done: () => boolean, changes: () => boolean, alarm: Deadline | undefined): Promise<'done' | 'changed' | 'alarm'> {
  let isDone = false;
  const over = () => (isDone = done()) || (changes() && patched(REST_ANEW));
  if (alarm === undefined) await condition(over);
  else if (!(await condition(over, Math.max(1, alarm.atMs - Date.now()), { summary: alarm.summary }))) return 'alarm';
  return isDone ? 'done' : 'changed';
}

function ladder({ data }: RunningConversation): Rung[] {
  const { freezeAfterMs, hibernateAfterMs = 0, stopAfterMs, archiveAfterMs = 0 } = data.limits;
  const holdsCommand = data.detachedCalls > 0;
  // A sub-agent that was ended during a pause has woken the commands that the pause holds.
  const holdsPaused = holdsCommand && data.paused?.by === 'operator';
  const rungs: Rung[] = [
    { afterMs: freezeAfterMs, from: ['running'], summary: 'idle: freeze the sandbox', act: () => freezeSandbox(holdsPaused ? 'pause' : 'idle', data) },
    {
      afterMs: hibernateAfterMs,
      from: ['running', 'frozen'],
      ends: true,
      summary: 'idle: hibernate the sandbox',
      act: () => hibernateSandbox('idle', data, holdsCommand ? 'stay' : 'stop'),
    },
    {
      afterMs: archiveAfterMs,
      from: ['running', 'frozen', 'hibernated', 'stopped'],
      ends: true,
      summary: 'idle: archive the sandbox',
      act: () => archiveSandbox('idle', data, holdsCommand ? 'stay' : 'stop'),
    },
  ];
  // In a sandbox of another conversation, that one decides about more than a freeze, which every command ends.
  if (isGuest(data)) return rungs.slice(0, 1);
  if (!holdsCommand) {
    rungs.push({
      afterMs: stopAfterMs,
      from: ['running', 'frozen', 'hibernated'],
      ends: true,
      summary: 'idle: stop the sandbox',
      act: () => stopSandbox('idle', data),
    });
  }
  return rungs.toSorted((a, b) => a.afterMs - b.afterMs);
}

/** Changes the sandbox and stores its new tier. When the sandbox cannot be reached, its tier is not changed: the next tool call reports the problem. */
export async function changeTier(running: RunningConversation, act: () => Promise<SandboxActionResult>): Promise<void> {
  try {
    running.data.sandboxTier = (await act()).sandboxTier;
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error;
    log.warn('The sandbox could not be changed', { error: error.cause?.message ?? error.message });
  }
  running.show();
}

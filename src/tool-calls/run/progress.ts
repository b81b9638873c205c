import { Context } from '@temporalio/activity';
import type { ToolProgress } from '../../contracts/activities.ts';
import { cutMiddle, visibleLine } from '../../contracts/visible-text.ts';

const FIRST_HEARTBEAT_MS = 200;
const HEARTBEAT_MS = 1000;
const MAX_LINE = 200;
/** A line may have megabytes, and a beat comes every second. */
const LONGEST_LOOKED_AT = 10_000;

export interface Progress extends Disposable {
  phase(phase: ToolProgress['phase']): void;
  /** Output seen so far, over all commands of the call. */
  output(stdoutBytes: number, stderrBytes: number, lastLine: string): void;
  /** A line of the tool's own. */
  line(text: string): void;
}

/**
 * Heartbeats on a timer from now on, whatever the activity waits for: the beat brings back cancellations and shows the progress.
 * The first one is a moment late, so that a short call costs no request of its own.
 */
export function startProgress(callId: string): Progress {
  const context = Context.current();
  const progress: ToolProgress = { callId, phase: 'preparing', stdoutBytes: 0, stderrBytes: 0, lastLine: '', ...earlierOf(callId) };
  const beat = () => context.heartbeat({ ...progress });
  let interval: NodeJS.Timeout | undefined;
  const first = setTimeout(() => {
    beat();
    interval = setInterval(beat, HEARTBEAT_MS);
  }, FIRST_HEARTBEAT_MS);
  return {
    phase(phase) {
      progress.phase = phase;
    },
    output(stdoutBytes, stderrBytes, lastLine) {
      Object.assign(progress, { stdoutBytes, stderrBytes });
      if (lastLine) progress.lastLine = shownLine(lastLine);
    },
    line(text) {
      progress.lastLine = shownLine(text);
    },
    [Symbol.dispose]() {
      clearTimeout(first);
      clearInterval(interval);
    },
  };
}

/** Operators read it in the Temporal UI. */
function shownLine(text: string): string {
  return cutMiddle(visibleLine(text.slice(0, LONGEST_LOOKED_AT)), MAX_LINE);
}

/** How far an earlier attempt of this activity had come; undefined when there was none or it died before its first beat. */
function earlierOf(callId: string): ToolProgress | undefined {
  const details = Context.current().info.heartbeatDetails as ToolProgress | undefined;
  return details?.callId === callId ? details : undefined;
}

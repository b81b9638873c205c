import { Context } from '@temporalio/activity';
import type { ToolProgress } from '../../contracts/activities.ts';
import { cutMiddle, visibleLine } from '../../contracts/visible-text.ts';

const FIRST_HEARTBEAT_MS = 200;
const HEARTBEAT_MS = 1000;
const MAX_LINE = 200;
/** A line may have megabytes, and each heartbeat shows it anew. */
const LONGEST_LOOKED_AT = 10_000;

export interface Progress extends Disposable {
  phase(phase: ToolProgress['phase']): void;
  /** Output seen so far, over all commands of the call. */
  output(stdoutBytes: number, stderrBytes: number, lastLine: string): void;
  /** A line of text from the tool. */
  line(text: string): void;
}

/**
 * Starts heartbeats on a timer, independent of what the activity waits for: a heartbeat receives cancellations and shows the progress.
 * The first one has a short delay, so that a short call costs no request.
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

/** Prepares the line for the Temporal UI, where operators read it. */
function shownLine(text: string): string {
  return cutMiddle(visibleLine(text.slice(0, LONGEST_LOOKED_AT)), MAX_LINE);
}

/** Progress of an earlier attempt of this activity; undefined when there was none or it died before its first heartbeat. */
function earlierOf(callId: string): ToolProgress | undefined {
  const details = Context.current().info.heartbeatDetails as ToolProgress | undefined;
  return details?.callId === callId ? details : undefined;
}

import type { ConversationState, TurnOutcome } from '../../contracts/conversation.ts';

/** When a schedule runs. */
export type ScheduleTiming =
  /**
   * Five fields: minute, hour, day of the month, month, day of the week; a date must match both day fields. Or `@hourly`, `@daily`, `@weekly`, `@monthly`,
   * `@yearly`.
   */
  | { cron: string; /** Name of an IANA time zone. Default `UTC`. */ timeZone?: string }
  /** A duration of at least a minute (`30m`, or milliseconds). It counts from 1970, not from the creation: `1h` runs at every full hour. */
  | { every: string | number }
  /** Runs once. A string is ISO 8601 with its time zone, such as `2027-01-31T09:00:00Z`. */
  | { at: string | Date };

export type CreateScheduleOptions = ScheduleTiming & {
  /** 1 to 64 letters, digits, `.`, `_` and `-`; part of the ids of its conversations. */
  id: string;
  agent: string;
  user: string;
  /** Default `default`. */
  tenant?: string | undefined;
  /** The first message of each conversation; at most 16,384 characters. */
  message: string;
  /** `true`: each conversation stays open after its answer and waits for more messages. Default false: it closes. */
  keepOpen?: boolean | undefined;
  /** The longest delay of a run, for example after an outage; a run that would begin later is skipped. At least a minute. Default `1d`. */
  catchUp?: string | number | undefined;
  /** Number of runs after which the schedule never runs again. Runs by `trigger` do not count. */
  maxRuns?: number | undefined;
};

export interface Schedule {
  id: string;
  agent: string;
  user: string;
  tenant: string;
  message: string;
  keepOpen: boolean;
  /** `other`: it was changed in Temporal to a timing that Longshore does not create. */
  timing: { kind: 'cron'; cron: string; timeZone: string } | { kind: 'every'; everyMs: number } | { kind: 'at'; at: string } | { kind: 'other' };
  catchUpMs: number;
  paused: boolean;
  /** Why it is paused. */
  note?: string;
  /** Absent when there is no limit. */
  runsLeft?: number;
  /** Runs that were skipped because they would have begun too late. */
  missedRuns: number;
  /** The next times, at most ten; empty when the schedule is over. If it is paused at such a time, the run is skipped. */
  nextAt: string[];
  createdAt: string;
}

/**
 * The result of one run. `waiting`: no worker has started it yet, or it is being retried. `lastTurn`: how the newest ended turn of its conversation ended;
 * absent before a turn has ended.
 */
export type ScheduleRun = { at: string; conversationId: string } & (
  | { outcome: 'started'; state: ConversationState; lastTurn?: { outcome: TurnOutcome; message?: string } }
  | { outcome: 'waiting' }
  | { outcome: 'failed'; problem: string }
);

export interface ScheduleWithRuns extends Schedule {
  /** The newest first, at most ten. */
  runs: ScheduleRun[];
}

/**
 * Conversations that start by themselves, unattended, one for each time of a schedule. Temporal stores the schedules, and catches up runs that were due while
 * it was down. Only the schedules of this installation (task queue) are visible. An unknown id fails with `SCHEDULE_NOT_FOUND`.
 */
export interface Schedules {
  /**
   * May be repeated: a schedule that has the id and the same definition is given back as it is now, paused or not. Any other with that id fails with
   * `SCHEDULE_EXISTS`. Fails with `AGENT_NOT_FOUND` or `MESSAGE_INVALID`, or with `INVALID_ARGUMENT` for invalid times.
   */
  create(options: CreateScheduleOptions): Promise<Schedule>;
  /** Sorted by id. Temporal may take a second to show a change here. */
  list(): Promise<Schedule[]>;
  get(id: string): Promise<ScheduleWithRuns>;
  /** Runs that are due while it is paused are skipped. */
  pause(id: string, options?: { note?: string | undefined }): Promise<void>;
  resume(id: string): Promise<void>;
  /** Runs it now, paused or not, and waits up to 10 seconds for the conversation to start. Two triggers within a second are one run. */
  trigger(id: string): Promise<ScheduleRun>;
  /** Does not change its conversations. */
  delete(id: string): Promise<void>;
}

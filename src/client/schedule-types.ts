import type { ConversationState, TurnOutcome } from '../contracts/conversation.ts';

/** When a schedule runs. */
export type ScheduleTiming =
  /** Five fields: minute, hour, day of the month, month, day of the week; both days have to fit. Or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`. */
  | { cron: string; /** Name of an IANA time zone. Default `UTC`. */ timeZone?: string }
  /** A duration of at least a minute (`30m`, milliseconds), counted from 1970 and not from the creation: `1h` is every full hour. */
  | { every: string | number }
  /** Once. A text is ISO 8601 with its zone, such as `2027-01-31T09:00:00Z`. */
  | { at: string | Date };

export type CreateScheduleOptions = ScheduleTiming & {
  /** 1 to 64 letters, digits, `.`, `_` and `-`; part of the ids of its conversations. */
  id: string;
  agent: string;
  user: string;
  /** Default `default`. */
  tenant?: string;
  /** What each conversation begins with; at most 16,384 characters. */
  message: string;
  /** Each conversation waits for more when it has answered. Otherwise it closes then. */
  keepOpen?: boolean;
  /** How late a run may begin, such as after an outage; what is later is left out. A duration of at least a minute. Default `1d`. */
  catchUp?: string | number;
  /** Runs until it rests for good. Those of `trigger` do not count. */
  maxRuns?: number;
};

export interface Schedule {
  id: string;
  agent: string;
  user: string;
  tenant: string;
  message: string;
  keepOpen: boolean;
  /** `other`: it was changed in Temporal to something that Longshore does not make. */
  timing: { kind: 'cron'; cron: string; timeZone: string } | { kind: 'every'; everyMs: number } | { kind: 'at'; at: string } | { kind: 'other' };
  catchUpMs: number;
  paused: boolean;
  /** Why it is paused. */
  note?: string;
  /** Absent without a limit. */
  runsLeft?: number;
  /** Runs that were left out because they would have begun too late. */
  missedRuns: number;
  /** The next times, at most ten; none when it is over. Those of a paused one are left out if it is still paused then. */
  nextAt: string[];
  createdAt: string;
}

/**
 * What became of one run. `waiting`: no worker has taken it up yet, or it is being tried again. `lastTurn`: how the newest turn of its conversation has ended; absent
 * before the first has.
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
 * Conversations that start by themselves, unattended, one for each time of a schedule. Temporal keeps the schedules, and makes up for runs that were due while it was
 * down. Only those of this installation (task queue) are seen here. An unknown id is a `SCHEDULE_NOT_FOUND`.
 */
export interface Schedules {
  /** `SCHEDULE_EXISTS`, `AGENT_NOT_FOUND`, `MESSAGE_INVALID`; `INVALID_ARGUMENT` for times that are none. */
  create(options: CreateScheduleOptions): Promise<Schedule>;
  /** By id. A change may take Temporal a second to show here. */
  list(): Promise<Schedule[]>;
  get(id: string): Promise<ScheduleWithRuns>;
  /** What would be due meanwhile is left out. */
  pause(id: string, options?: { note?: string }): Promise<void>;
  resume(id: string): Promise<void>;
  /** Runs it now, paused or not, and waits up to 10 seconds for the conversation to start. Twice within a second is one run. */
  trigger(id: string): Promise<ScheduleRun>;
  /** Its conversations stay as they are. */
  delete(id: string): Promise<void>;
}

import { createRunningCalls, type RunningCalls } from '../../../../common/calls/running-calls.ts';

interface User {
  tenantId: string;
  userId: string;
}

/** What is needed of a connection. */
interface Connection {
  call(...given: never[]): Promise<unknown>;
  ended: Promise<string>;
  close(why: string): Promise<void>;
}

interface Open<Session> {
  session: Promise<Session>;
  calls: RunningCalls;
  /** Calls in progress. */
  used: number;
  timer?: NodeJS.Timeout;
}

const IDLE_MS = 300_000;
const MOST = 500;
const NEVER = new AbortController().signal;

/** Connections to one server, one for each user that calls it. No user's call goes over the connection of another. */
export class UserSessions<Session extends Connection> {
  private readonly all = new Map<string, Open<Session>>();
  private readonly open: (user: User) => Promise<Session>;
  private readonly idleMs: number;

  constructor(open: (user: User) => Promise<Session>, idleMs = IDLE_MS) {
    this.open = open;
    this.idleMs = idleMs;
  }

  of(user: User): Promise<Session> {
    const known = this.all.get(keyOf(user));
    if (known) {
      this.rest(known);
      return known.session;
    }
    this.makeRoom();
    const one: Open<Session> = { session: this.open(user).then((session) => this.counted(one, session)), calls: createRunningCalls(), used: 0 };
    this.all.set(keyOf(user), one);
    this.rest(one);
    const forget = () => this.forget(one);
    one.session.then(({ ended }) => ended.then(forget), forget);
    return one.session;
  }

  /** Undefined where no call has opened it. */
  opened(user: User): Promise<Session> | undefined {
    return this.all.get(keyOf(user))?.session;
  }

  /** The next call of the user makes another one; calls in progress go on over this one. */
  drop(user: User, why: string): void {
    const one = this.all.get(keyOf(user));
    if (one) void this.endWhenIdle(one, why);
  }

  /** Ends all as soon as none of their calls is in progress; `now` does not wait for that. */
  async close(why: string, now?: 'now'): Promise<void> {
    await Promise.all([...this.all.values()].map((one) => (now ? this.end(one, why) : this.endWhenIdle(one, why))));
  }

  private async endWhenIdle(one: Open<Session>, why: string): Promise<void> {
    this.forget(one);
    await one.calls.drained(NEVER);
    await this.end(one, why);
  }

  private async end(one: Open<Session>, why: string): Promise<void> {
    this.forget(one);
    await one.session.then(
      (session) => session.close(why),
      () => undefined,
    );
  }

  private forget(one: Open<Session>): void {
    clearTimeout(one.timer);
    for (const [key, known] of this.all) if (known === one) this.all.delete(key);
  }

  private counted(one: Open<Session>, session: Session): Session {
    const call = (...given: never[]) =>
      one.calls.counted(async () => {
        one.used += 1;
        clearTimeout(one.timer);
        try {
          return await session.call(...given);
        } finally {
          one.used -= 1;
          this.rest(one);
        }
      });
    return { ...session, call };
  }

  /** Ends it when it was not used for a while. */
  private rest(one: Open<Session>): void {
    clearTimeout(one.timer);
    if (one.used > 0) return;
    one.timer = setTimeout(() => void this.end(one, 'no call has used it for a while'), this.idleMs);
    one.timer.unref();
  }

  private makeRoom(): void {
    if (this.all.size < MOST) return;
    const idle = [...this.all.values()].find(({ used }) => used === 0);
    if (idle) void this.end(idle, 'others need the room');
  }
}

function keyOf({ tenantId, userId }: User): string {
  return JSON.stringify([tenantId, userId]);
}

import type { ServerResponse } from 'node:http';
import { Tally } from '../../common/tally.ts';
import { failure } from '../../contracts/errors.ts';
import type { StreamTimes } from './stream-times.ts';

/** The streams of a process that are open now, and the requests that wait for a turn. `limit`: what the owner may have in place of the default. */
export interface OpenStreams {
  /** Runs a stream of this owner; the signal ends it when the process stops. @throws STREAM_LIMIT */
  run(owner: string, response: ServerResponse, work: (signal: AbortSignal) => Promise<void>, limit?: number): Promise<void>;
  /** Does work that counts like a stream. @throws STREAM_LIMIT */
  wait<Result>(owner: string, work: () => Promise<Result>, limit?: number): Promise<Result>;
  /** @throws STREAM_LIMIT when another one has no room */
  requireRoom(owner: string, limit?: number): void;
  readonly size: number;
  /** How long a stream waits for its reader, in milliseconds. */
  readonly stalledMs: number;
  /** Ends all streams; their readers go on elsewhere. */
  close(): Promise<void>;
}

export function createOpenStreams({ perOwner, heartbeatMs, stalledMs }: { perOwner: number } & StreamTimes): OpenStreams {
  const closing = new AbortController();
  const open = new Map<ServerResponse, { owner: string; work: Promise<void> }>();
  const beat = () => {
    for (const response of open.keys()) if (!response.writableNeedDrain && response.headersSent) response.write(': keep-alive\n\n');
  };
  let timer: NodeJS.Timeout | undefined;
  const waiting = new Tally();
  const ownedBy = (owner: string) => [...open.values()].filter((one) => one.owner === owner).length + waiting.of(owner);
  const requireRoom = (owner: string, limit = perOwner) => {
    if (ownedBy(owner) >= limit) throw failure('STREAM_LIMIT', { limit });
  };
  return {
    stalledMs,
    requireRoom,
    async wait(owner, work, limit) {
      requireRoom(owner, limit);
      waiting.add(owner, 1);
      try {
        return await work();
      } finally {
        waiting.add(owner, -1);
      }
    },
    async run(owner, response, work, limit) {
      requireRoom(owner, limit);
      timer ??= setInterval(beat, heartbeatMs);
      const running = work(closing.signal);
      open.set(response, { owner, work: running });
      try {
        await running;
      } finally {
        open.delete(response);
        if (open.size === 0) {
          clearInterval(timer);
          timer = undefined;
        }
      }
    },
    get size() {
      return open.size;
    },
    async close() {
      closing.abort();
      await Promise.allSettled([...open.values()].map(({ work }) => work));
    },
  };
}

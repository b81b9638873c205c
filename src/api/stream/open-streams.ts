import type { ServerResponse } from 'node:http';
import { failure } from '../../contracts/errors.ts';

/** The streams of a process that are open now. */
export interface OpenStreams {
  /** Runs a stream of this owner; the signal ends it when the process stops. @throws STREAM_LIMIT */
  run(owner: string, response: ServerResponse, work: (signal: AbortSignal) => Promise<void>): Promise<void>;
  readonly size: number;
  /** Ends all streams; their readers go on elsewhere. */
  close(): Promise<void>;
}

/** Connections that are idle for longer are cut by proxies. */
const HEARTBEAT_MS = 15_000;

export function createOpenStreams({ perOwner }: { perOwner: number }): OpenStreams {
  const closing = new AbortController();
  const open = new Map<ServerResponse, { owner: string; work: Promise<void> }>();
  const beat = () => {
    for (const response of open.keys()) if (!response.writableNeedDrain && response.headersSent) response.write(': keep-alive\n\n');
  };
  let timer: NodeJS.Timeout | undefined;
  const ownedBy = (owner: string) => [...open.values()].filter((one) => one.owner === owner).length;
  return {
    async run(owner, response, work) {
      if (ownedBy(owner) >= perOwner) throw failure('STREAM_LIMIT', { limit: perOwner });
      timer ??= setInterval(beat, HEARTBEAT_MS);
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

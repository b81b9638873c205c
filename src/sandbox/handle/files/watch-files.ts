import { failure, isFailure } from '../../../contracts/errors.ts';
import type { WorkingConnection, WatchLine } from '../../protocol/supervisor-connection.ts';
import type { FileEvent, FileWatch } from '../../api/files.ts';

/** The most events that wait for their reader. When there are more, one `overflow` replaces them all. */
const MAX_WAITING = 10_000;

/** Resolves when the watch is active. */
export async function watchFiles(connection: WorkingConnection, path: string, { recursive = false }: { recursive?: boolean } = {}): Promise<FileWatch> {
  const stop = new AbortController();
  const queue = createQueue();
  const over = new Promise<void>((resolve, reject) => {
    const ready = (line: WatchLine): void => {
      if (line.type === 'ready') return resolve();
      return queue.add({ type: line.type, path: line.path });
    };
    const onRepeat = (): void => queue.add({ type: 'overflow', path });
    connection.watch(path, { recursive, signal: stop.signal, onEvent: ready, onRepeat }).then(
      () => queue.end(),
      (error: unknown) => {
        const failed = isFailure(error) ? error : failure('INTERNAL', { problem: String(error) });
        reject(failed);
        if (stop.signal.aborted) queue.end();
        else queue.end(failed);
      },
    );
  });
  await over;
  const close = (): void => stop.abort();
  return {
    closed: queue.ended,
    close,
    async [Symbol.asyncDispose]() {
      close();
      await queue.ended;
    },
    async *[Symbol.asyncIterator]() {
      try {
        for (let event = await queue.next(); event; event = await queue.next()) yield event;
      } finally {
        close();
      }
    },
  };
}

interface Queue {
  add(event: FileEvent): void;
  end(error?: Error): void;
  /** Undefined when there are no more events. */
  next(): Promise<FileEvent | undefined>;
  readonly ended: Promise<void>;
}

function createQueue(): Queue {
  let waiting: FileEvent[] = [];
  let wake: () => void = () => undefined;
  let over = false;
  let failed: Error | undefined;
  let markEnded: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => (markEnded = resolve));
  return {
    ended,
    add(event) {
      waiting.push(event);
      if (waiting.length > MAX_WAITING) waiting = [{ type: 'overflow', path: event.path }];
      wake();
    },
    end(error) {
      over = true;
      failed = error;
      markEnded();
      wake();
    },
    async next() {
      if (waiting.length === 0 && !over) await new Promise<void>((resolve) => (wake = resolve));
      const event = waiting.shift();
      if (event === undefined && failed !== undefined) throw failed;
      return event;
    },
  };
}

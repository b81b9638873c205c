import { LIMITS } from './frames.ts';

interface FeedHooks {
  /** Bytes that may be sent now. */
  credit(): number;
  send(chunk: Uint8Array): void;
  /** The source failed. */
  fail(error: unknown): void;
}

/** Sends a source at the pace of the supervisor. At most one chunk of it is in memory. */
export class Feed {
  private readonly hooks: FeedHooks;
  private stopped = false;
  private wake: (() => void) | undefined;

  constructor(source: AsyncIterable<Uint8Array>, hooks: FeedHooks) {
    this.hooks = hooks;
    void this.run(source);
  }

  /** Continues after new credit. */
  advance(): void {
    this.wake?.();
  }

  stop(): void {
    this.stopped = true;
    this.wake?.();
  }

  private async run(source: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      for await (const chunk of source) {
        await this.send(chunk);
        if (this.stopped) return;
      }
    } catch (error) {
      if (!this.stopped) this.hooks.fail(error);
    }
  }

  private async send(chunk: Uint8Array): Promise<void> {
    if (chunk.byteLength === 0) this.hooks.send(chunk);
    for (let position = 0; position < chunk.byteLength && !this.stopped;) {
      const size = Math.min(this.hooks.credit(), LIMITS.chunkBytes, chunk.byteLength - position);
      if (size > 0) {
        this.hooks.send(chunk.subarray(position, position + size));
        position += size;
      } else {
        await new Promise<void>((resolve) => (this.wake = resolve));
      }
    }
  }
}

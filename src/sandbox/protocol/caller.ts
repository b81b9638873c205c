import { setMaxListeners } from 'node:events';
import type { Duplex } from 'node:stream';
import { failure, isFailure } from '../../contracts/errors.ts';
import type { Logger } from '../../platform/log.ts';
import { unsent, type AnyCall, type Call, type OpenCall } from './call.ts';
import { PROTOCOL_VERSION } from './frames.ts';
import { greet, type SandboxTerms } from './greeting.ts';
import { openLink, type Link, type LinkEnd } from './link.ts';
import type { EndOf, Operation } from './protocol-types.ts';
import { parseMessage } from './validate-messages.ts';

export interface CallerOptions {
  /**
   * Opens a stream to the supervisor's socket. Called again after a stream broke. May wait while the sandbox is frozen; `signal` is aborted when no call
   * waits any more. May throw an error of the table: it is passed on at once when it is not retryable, otherwise after the last attempt.
   */
  openStream(signal: AbortSignal): Promise<Duplex>;
  sandboxId: string;
  /** Terms that are sent to the supervisor at the beginning of each stream. Called when the stream is open. */
  terms?: () => SandboxTerms;
  log: Logger;
  /** Milliseconds of silence after which a ping is sent, and then until the stream is closed as dead. Default 10 000. */
  silenceMs?: number;
}

/** Milliseconds before each further attempt to reach the supervisor. */
const RETRY_DELAYS = [10, 30, 100, 200, 400, 800, 1600];
/** A call that was sent more often without an answer fails: it probably breaks each stream. */
const MAX_ATTEMPTS = 5;

/** Sends calls to one supervisor. The stream may break at any time; calls in progress then continue on a new one. */
export class Caller {
  private readonly options: CallerOptions;
  private readonly silenceMs: number;
  private link: Link | undefined;
  /** Id of the supervisor at the other end of the link. Another supervisor has not received what was sent to this one. */
  private supervisorId = '';
  private waiting: OpenCall[] = [];
  private opening: AbortController | undefined;
  private watch: NodeJS.Timeout | undefined;
  private pingedAt = 0;
  /** The ping that checks whether the stream is alive. */
  private probe: OpenCall | undefined;
  /** Set when no further stream is opened: the error of all later calls. */
  private over: Error | undefined;
  /** The error that `close` was called with. */
  private why: Error | undefined;

  constructor(options: CallerOptions) {
    this.options = options;
    this.silenceMs = options.silenceMs ?? 10_000;
  }

  get sandboxId(): string {
    return this.options.sandboxId;
  }

  /** Resolves with the checked end of the operation. */
  call<O extends Operation>(call: Call<O>): Promise<EndOf<O>> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => this.letGo(open);
      const open: OpenCall = {
        ...unsent(call),
        finish(payload) {
          const end = parseMessage(call.operation, 'end', payload);
          release();
          resolve(end);
        },
        fail(error) {
          release();
          reject(error instanceof Error ? error : failure('INTERNAL', { problem: String(error) }));
        },
      };
      const release = (): void => {
        call.signal?.removeEventListener('abort', onAbort);
        open.feed?.stop();
      };
      if (call.signal?.aborted === true) return open.fail(this.letGoError(call));
      // One signal may serve any number of commands.
      if (call.signal) setMaxListeners(0, call.signal);
      call.signal?.addEventListener('abort', onAbort, { once: true });
      return this.send(open);
    });
  }

  /** Closes the stream. Calls in progress open a new one and continue on it. */
  disconnect(): void {
    this.link?.close('it was disconnected');
  }

  /** Milliseconds since `heardAt` of the open link; `Infinity` without a link. */
  silentMs(): number {
    return this.link === undefined ? Infinity : performance.now() - this.link.heardAt();
  }

  /** Closes the connection permanently. Calls in progress reject with `why`; without it they are detached, and commands continue. */
  close(why?: Error): void {
    this.why ??= why;
    this.over ??= why ?? this.unreachable('the connection was closed');
    const calls = [...(this.link?.calls.values() ?? []), ...this.waiting];
    for (const open of calls) this.letGo(open);
    this.link?.close('it was closed');
    this.opening?.abort();
    clearTimeout(this.watch);
  }

  private send(open: OpenCall): void {
    if (this.over) return open.fail(this.over);
    if (this.link) {
      if (this.wouldStartAgain(open)) return open.fail(this.lost());
      const isFirst = open.sentTo === undefined;
      open.sentTo ??= this.supervisorId;
      try {
        this.link.send(open, isFirst);
      } catch (error) {
        open.fail(error);
      }
      this.watchSilence();
      return;
    }
    this.waiting.push(open);
    if (this.opening) return;
    this.opening = new AbortController();
    void this.open(this.opening.signal);
  }

  /** A new supervisor may have a new journal, which does not show what the earlier supervisor started. So a start is never sent to a second supervisor. */
  private wouldStartAgain({ call, sentTo }: OpenCall): boolean {
    return (call.operation === 'run' || call.operation === 'start') && sentTo !== undefined && sentTo !== this.supervisorId;
  }

  private lost(): Error {
    return failure('SANDBOX_LOST', {
      sandboxId: this.options.sandboxId,
      problem: 'another container replaced it while a command was being started or followed',
    });
  }

  private letGo(open: OpenCall): void {
    this.link?.cancel(open);
    this.waiting = this.waiting.filter((other) => other !== open);
    open.fail(this.letGoError(open.call));
    if (this.waiting.length > 0) return;
    this.opening?.abort();
    this.opening = undefined;
  }

  private letGoError(call: AnyCall): Error {
    return this.why ?? call.letGo?.() ?? this.over ?? this.unreachable(`${call.operation} was abandoned`);
  }

  /** Never rejects: errors go to the waiting calls. */
  private async open(signal: AbortSignal): Promise<void> {
    let last: unknown;
    for (const delay of [0, ...RETRY_DELAYS]) {
      if (delay > 0) await new Promise((resolve) => setTimeout(resolve, delay));
      if (signal.aborted) return;
      try {
        await this.tryOpen(signal);
        return;
      } catch (error) {
        if (signal.aborted) return;
        last = error;
        if (isFailure(error) && !error.retryable) break;
      }
    }
    const error = isFailure(last) ? last : this.unreachable(last instanceof Error ? last.message : String(last));
    if (isFailure(error, 'SANDBOX_PROTOCOL')) this.over = error;
    this.opening = undefined;
    for (const open of this.waiting.splice(0)) open.fail(error);
  }

  private async tryOpen(signal: AbortSignal): Promise<void> {
    const stream = await this.options.openStream(signal);
    let link: Link | undefined;
    let patience: NodeJS.Timeout | undefined;
    try {
      const theirs = await new Promise<EndOf<'hello'>>((resolve, reject) => {
        if (signal.aborted) return reject(failure('INTERNAL', { problem: 'its caller no longer waits' }));
        signal.addEventListener('abort', () => reject(failure('INTERNAL', { problem: 'its caller no longer waits' })), { once: true });
        link = openLink({
          stream,
          sandboxId: this.options.sandboxId,
          onEnd: (end, calls) => {
            if (this.link !== undefined && this.link === link) return this.onEnd(end, calls);
            return reject(end.reason === 'breach' ? this.breach(end.problem) : this.unreachable(end.problem));
          },
        });
        greet(link, this.options.sandboxId, this.options.terms?.() ?? {}).then(resolve, reject);
        // A container that was frozen just now does not answer either; opening the next stream waits for it.
        patience = setTimeout(() => reject(this.unreachable('it does not answer')), this.silenceMs);
        return undefined;
      });
      if (theirs.version !== PROTOCOL_VERSION) {
        throw failure('SANDBOX_VERSION', { theirs: theirs.version, ours: PROTOCOL_VERSION });
      }
      this.supervisorId = theirs.supervisorId;
    } catch (error) {
      link?.close('the greeting failed');
      stream.destroy();
      throw error;
    } finally {
      clearTimeout(patience);
    }
    this.link = link;
    this.opening = undefined;
    for (const open of this.waiting.splice(0)) this.send(open);
  }

  private watchSilence(): void {
    this.watch ??= setTimeout(() => this.onSilence(), this.silenceMs).unref();
  }

  private onSilence(): void {
    this.watch = undefined;
    const { link } = this;
    if (!link || link.calls.size === 0) return;
    const now = performance.now();
    const pinged = this.pingedAt > link.heardAt();
    if (pinged && now - this.pingedAt >= this.silenceMs * 0.9) {
      this.options.log.warn({ sandboxId: this.options.sandboxId }, 'the supervisor does not answer on this stream; opening another');
      link.close('it stopped answering');
      return;
    }
    if (!pinged && now - link.heardAt() >= this.silenceMs * 0.9) {
      this.pingedAt = now;
      this.probe = { ...unsent({ operation: 'ping', fields: () => ({}) }), finish: () => undefined, fail: () => undefined };
      link.send(this.probe);
    }
    this.watchSilence();
  }

  private unreachable(problem: string): Error {
    return failure('SANDBOX_UNREACHABLE', { sandboxId: this.options.sandboxId, problem });
  }

  private breach(problem: string): Error {
    return failure('SANDBOX_PROTOCOL', { sandboxId: this.options.sandboxId, problem });
  }

  private onEnd(end: LinkEnd, calls: OpenCall[]): void {
    this.link = undefined;
    if (end.reason === 'breach') {
      this.over = this.breach(end.problem);
      this.options.log.error({ sandboxId: this.options.sandboxId, problem: end.problem }, 'the supervisor broke the protocol');
      for (const open of [...calls, ...this.waiting.splice(0)]) open.fail(this.over);
      return;
    }
    for (const open of calls) {
      open.attempts += 1;
      if (open === this.probe) continue;
      if (open.call.once === true || open.attempts > MAX_ATTEMPTS) open.fail(this.unreachable(end.problem));
      else this.repeat(open);
    }
  }

  /** An error of a caller's function ends only that call. */
  private repeat(open: OpenCall): void {
    try {
      open.call.onRepeat?.();
    } catch (error) {
      open.fail(error);
      return;
    }
    this.send(open);
  }
}

import { ProtocolError, type Client, type McpSubscription } from '@modelcontextprotocol/client';
import { pause } from '../../../../common/pause.ts';
import { anySignal } from '../../../../common/any-signal.ts';

/** Notifications of changes in the revision 2026-07-28: a server sends only those that a connection has subscribed to, over one stream that stays open. */
export interface Subscriptions {
  /** Resolves when the server has accepted it. @throws an Error when it sends no notifications about this resource */
  add(uri: string): Promise<void>;
  remove(uri: string): void;
  /** Opens the stream. Resolves when the server has taken it, has refused it, or cannot be reached. */
  begin(): Promise<void>;
}

export interface Lists {
  toolsListChanged?: true;
  promptsListChanged?: true;
  resourcesListChanged?: true;
}

interface Parts {
  client: Pick<Client, 'listen'>;
  lists: Lists;
  /** Aborts when the connection ends. */
  ended: AbortSignal;
  /** The stream is open again; what has changed meanwhile is not known. */
  onGap: () => void;
  onProblem: (error: unknown) => void;
  /** The server cannot be reached. */
  onLost: () => void;
}

const TIMEOUT_MS = 10_000;
const [FIRST_PAUSE_MS, LAST_PAUSE_MS] = [1_000, 30_000];
/** Attempts in a row that fail before the server counts as lost. */
const MOST_FAILURES = 4;
/** A stream that was open for so long did not end because of its beginning. */
const STEADY_MS = 60_000;

export function createSubscriptions(parts: Parts): Subscriptions {
  return new Listening(parts);
}

/** A caller that waits for the next stream, and the resource that this stream has to cover as well, if there is one. */
interface Waiting {
  uri?: string;
  taken: (stream: Promise<McpSubscription>) => void;
}

class Listening implements Subscriptions {
  private readonly parts: Parts;
  /** Of which the server has agreed to tell. */
  private readonly uris = new Set<string>();
  /** Aborts when other changes are wanted than those of the open stream. */
  private changed = new AbortController();
  private waiting: Waiting[] = [];
  /** The server has refused several resources at the same time, and maybe because of one of them. */
  private isOneByOne = false;
  private stream: McpSubscription | undefined;
  private isWorking = false;

  constructor(parts: Parts) {
    this.parts = parts;
  }

  async begin(): Promise<void> {
    if (this.isWanted()) await this.again().catch(() => undefined);
  }

  async add(uri: string): Promise<void> {
    const { honoredFilter } = await this.again(uri);
    if (!honoredFilter.resourceSubscriptions?.includes(uri)) throw new Error('the server sends no notifications about this resource');
  }

  remove(uri: string): void {
    if (this.uris.delete(uri)) this.again().catch(() => undefined);
  }

  /** The next stream, which has all that is wanted now. */
  private again(uri?: string): Promise<McpSubscription> {
    const next = new Promise<McpSubscription>((taken) => this.waiting.push({ taken, ...(uri !== undefined && { uri }) }));
    this.changed.abort();
    if (!this.isWorking) void this.work();
    return next;
  }

  private async work(): Promise<void> {
    const { ended, onGap, onLost, onProblem } = this.parts;
    this.isWorking = true;
    let failures = 0;
    let isGap = false;
    while (!ended.aborted && this.isWanted()) {
      this.changed = new AbortController();
      const over = anySignal([ended, this.changed.signal]);
      const begun = performance.now();
      try {
        await this.open();
        if (isGap) onGap();
        await this.closed(over);
        if (over.aborted || performance.now() - begun > STEADY_MS) failures = 0;
      } catch (error) {
        onProblem(error);
        // It does not offer this, and will not when it is asked again.
        if (error instanceof ProtocolError) break;
        failures += 1;
        if (failures >= MOST_FAILURES) onLost();
      }
      isGap = !over.aborted;
      if (isGap) await pause(Math.min(FIRST_PAUSE_MS * 2 ** failures, LAST_PAUSE_MS), over);
    }
    this.isWorking = false;
    for (const { taken } of this.waiting.splice(0)) taken(Promise.reject(new Error('the connection has ended')));
    await this.stream?.close().catch(() => undefined);
  }

  /** Resolves when the open stream has ended, or something else is wanted. */
  private async closed(over: AbortSignal): Promise<void> {
    if (this.waiting.length > 0 || !this.stream) this.changed.abort();
    await Promise.race([this.stream?.closed, aborted(over)]);
  }

  /** The former stream ends when there is another one, so that no change is missed in between. */
  private async open(): Promise<void> {
    const waiting = this.waiting.splice(0, this.isOneByOne ? 1 : Infinity);
    this.isOneByOne &&= this.waiting.length > 0;
    const added = new Set(waiting.flatMap(({ uri }) => (uri === undefined || this.uris.has(uri) ? [] : [uri])));
    const resourceSubscriptions = [...this.uris, ...added];
    const filter = { ...this.parts.lists, ...(resourceSubscriptions.length > 0 && { resourceSubscriptions }) };
    const opening = this.parts.client.listen(filter, { timeout: TIMEOUT_MS });
    try {
      const { honoredFilter } = await opening;
      for (const uri of added) if (honoredFilter.resourceSubscriptions?.includes(uri)) this.uris.add(uri);
    } catch (error) {
      this.refuse(waiting, added.size, opening, error);
      return;
    }
    for (const { taken } of waiting) taken(opening);
    const former = this.stream;
    this.stream = await opening;
    await former?.close();
  }

  /** When the server refuses an additional resource, only its caller fails: the earlier stream goes on, because it reports changes to other conversations. */
  private refuse(waiting: Waiting[], added: number, opening: Promise<McpSubscription>, error: unknown): void {
    const isRefused = error instanceof ProtocolError && added > 0;
    if (isRefused && added > 1) {
      this.waiting.unshift(...waiting);
      this.isOneByOne = true;
    } else for (const { taken } of waiting) taken(opening);
    if (!isRefused) throw error;
  }

  private isWanted(): boolean {
    return this.uris.size > 0 || Object.keys(this.parts.lists).length > 0 || this.waiting.some(({ uri }) => uri !== undefined);
  }
}

function aborted(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener('abort', resolve, { once: true });
  });
}

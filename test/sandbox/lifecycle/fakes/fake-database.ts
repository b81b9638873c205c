import { Readable } from 'node:stream';
import { failure } from '../../../../src/contracts/errors.ts';
import { Meter } from '../../../../src/store/blobs/blob-store.ts';
import type { SandboxChange, SandboxRow, SandboxRows, SandboxState } from '../../../../src/store/sandbox-rows.ts';
import { FakeBackups } from './fake-backups.ts';
import { fakePools } from './fake-pools.ts';
import { fakeSnapshots } from './fake-snapshots.ts';
import { SharedLocks } from './shared-locks.ts';

const REST: ReadonlySet<SandboxState> = new Set(['hibernated', 'stopped', 'lost', 'archived']);

/** The rows of sandboxes, and a blob store. */
export class FakeDatabase {
  /** When sandboxes were taken over, and the numbers of the containers that are to be made for them. */
  readonly moves: { atMs: number; fence: number }[] = [];
  readonly #hosts = new Map<string, { sinceMs: number; heardMs: number }>();
  readonly rows = new Map<string, SandboxRow>();
  readonly locks = new SharedLocks();
  readonly backups = new FakeBackups(this.rows);
  readonly snapshots = fakeSnapshots(this.rows);
  /** Whether the blob store fails. */
  isWithoutBlobs = false;
  /** Whether its blobs are old enough to be removed when no row names them. */
  areBlobsOld = false;
  readonly blobIds = () => [...this.#blobs.keys()];
  readonly #blobs = new Map<string, Buffer>();
  readonly #tokens = new Map<string, string>();
  readonly #usedAtMs = new Map<string, number>();
  readonly #copiesSeen = new Map<string, number>();
  #numbers = 0;

  sandboxes() {
    return {
      ensure: async (row: Parameters<SandboxRows['ensure']>[0]) => {
        const made = { ...row, generation: 1, fence: row.fence ?? (this.#numbers += 1), lastUsedAt: '', idleMs: 0, createdAt: '' };
        const known = this.rows.get(row.sandboxId) ?? this.#ofConversation(row.conversationId) ?? made;
        this.rows.set(known.sandboxId, known);
        if (known === made) this.#usedAtMs.set(made.sandboxId, performance.now());
        return known;
      },
      drawFence: async () => (this.#numbers += 1),
      get: async (sandboxId: string) => {
        const row = this.rows.get(sandboxId);
        if (!row) return undefined;
        const sinceMs = performance.now() - (this.#usedAtMs.get(sandboxId) ?? 0);
        return { ...row, idleMs: sinceMs, ...(row.paused === true && { pausedMs: sinceMs }) };
      },
      list: async ({ hostId, states }: Parameters<SandboxRows['list']>[0]) =>
        [...this.rows.values()].filter((row) => (!hostId || row.hostId === hostId) && (!states || states.includes(row.state))),
      change: async (sandboxId: string, generation: number, change: SandboxChange) => this.#change(sandboxId, generation, change),
      takeOver: async (sandboxId: string, generation: number, change: SandboxChange & { hostId: string }, lostAfterMs: number) => {
        const { hostId = '' } = this.rows.get(sandboxId) ?? {};
        if (!this.#isGivenUp(hostId, change.hostId, lostAfterMs)) return undefined;
        const taken = this.#change(sandboxId, generation, change);
        if (taken) this.moves.push({ atMs: performance.now(), fence: taken.fence });
        return taken;
      },
      promise: async (sandboxId: string, generation: number, hostId: string) => this.#promise(sandboxId, generation, hostId),
      release: async (sandboxId: string, which: { token: string } | { generation: number }) => this.#release(sandboxId, which),
      listPromised: async () => [],
      withdraw: async (sandboxId: string, generation: number) => this.rows.get(sandboxId)?.generation === generation && this.rows.delete(sandboxId),
      touch: async () => undefined,
      prolong: async () => undefined,
    };
  }

  hosts() {
    return {
      beat: async (hostId: string, lostAfterMs: number) => {
        const now = Date.now();
        const known = this.#hosts.get(hostId);
        const isGap = known === undefined || known.heardMs < now - lostAfterMs;
        this.#hosts.set(hostId, { sinceMs: isGap ? now : known.sinceMs, heardMs: now });
        // Sandboxes are placed where they are asked for.
        return { isDraining: false, hasOthers: false };
      },
      lostSince: async (hostId: string, by: { hostId: string; lostAfterMs: number }) =>
        this.#isGivenUp(hostId, by.hostId, by.lostAfterMs) ? new Date(this.#hosts.get(hostId)?.heardMs ?? 0).toISOString() : undefined,
      lost: async (by: { hostId: string; lostAfterMs: number }) =>
        [...this.#hosts.keys()].filter((hostId) => this.#isGivenUp(hostId, by.hostId, by.lostAfterMs)),
    };
  }

  pools() {
    return fakePools(this.rows, () => (this.#numbers += 1));
  }

  #ofConversation(conversationId: string | undefined): SandboxRow | undefined {
    return conversationId === undefined ? undefined : [...this.rows.values()].find((row) => row.conversationId === conversationId);
  }

  #isGivenUp(gone: string, own: string, lostAfterMs: number): boolean {
    const limit = Date.now() - lostAfterMs;
    const [theirs, ours] = [this.#hosts.get(gone), this.#hosts.get(own)];
    return theirs !== undefined && ours !== undefined && theirs.heardMs < limit && ours.sinceMs < limit && ours.heardMs > limit;
  }

  async *#read(blobId: string): AsyncGenerator<Buffer> {
    const found = this.#blobs.get(blobId);
    if (found === undefined) throw failure('BLOB_NOT_FOUND', { blobId });
    yield found;
  }

  #promise(sandboxId: string, generation: number, hostId: string): { row: SandboxRow; token?: string } | undefined {
    const row = this.rows.get(sandboxId);
    if (row?.generation !== generation || !REST.has(row.state)) return undefined;
    const isJoined = row.promised?.for === 'wake' && row.promised.hostId === hostId;
    const token = `promise-${(this.#numbers += 1)}`;
    const promised = { ...row, promised: { hostId, for: 'wake' as const } };
    this.rows.set(sandboxId, promised);
    this.#tokens.set(sandboxId, token);
    return { row: promised, ...(!isJoined && { token }) };
  }

  #release(sandboxId: string, which: { token: string } | { generation: number }): void {
    const row = this.rows.get(sandboxId);
    if (row === undefined || !REST.has(row.state)) return;
    const isMeant = 'token' in which ? this.#tokens.get(sandboxId) === which.token : row.generation === which.generation && row.promised?.for === 'rest';
    if (!isMeant) return;
    const { promised: _, ...rest } = row;
    this.rows.set(sandboxId, rest);
  }

  #change(
    sandboxId: string,
    generation: number,
    { lost: _lost, filesLost: _filesLost, promisedFor, seenFence, ...change }: SandboxChange,
  ): SandboxRow | undefined {
    const row = this.rows.get(sandboxId);
    if (row?.generation !== generation || (seenFence ?? row.fence) !== row.fence) return undefined;
    const { archive: _archive, paused: _paused, promised, containerId, ...rest } = row;
    const kept = containerId === undefined || change.fence !== undefined ? {} : { containerId };
    const changed = {
      ...rest,
      ...kept,
      ...change,
      ...promiseAfter({ ...rest, ...(promised && { promised }) }, change, promisedFor),
      generation: generation + 1,
    };
    this.rows.set(sandboxId, changed);
    this.#usedAtMs.set(sandboxId, performance.now());
    return changed;
  }

  fleet() {
    return {
      agesOfCopies: async (_hostId: string, names: string[]) => {
        for (const name of names) if (!this.#copiesSeen.has(name)) this.#copiesSeen.set(name, Date.now());
        return new Map(names.map((name) => [name, Date.now() - (this.#copiesSeen.get(name) ?? 0)]));
      },
    };
  }

  blobs() {
    return {
      put: async (content: Readable) => {
        const meter = new Meter();
        const chunks: Buffer[] = [];
        for await (const chunk of meter.through(content)) chunks.push(chunk);
        if (this.isWithoutBlobs) throw failure('BLOB_FAILED', { blobId: 'new', problem: 'it is away' });
        const blobId = `blob-${(this.#numbers += 1)}`;
        this.#blobs.set(blobId, Buffer.concat(chunks));
        return { blobId, bytes: meter.bytes, sha256: meter.sha256() };
      },
      get: (blobId: string) => Readable.from(this.#read(blobId)),
      remove: async (blobId: string) => void this.#blobs.delete(blobId),
      list: async () => (this.areBlobsOld ? [...this.#blobs.keys()].map((blobId) => ({ blobId, createdAtMs: 0 })) : []),
    };
  }
}

function promiseAfter(row: SandboxRow, change: SandboxChange, promisedFor: SandboxChange['promisedFor']): Pick<SandboxRow, 'promised'> {
  const hostId = change.hostId ?? row.hostId;
  const isKept = REST.has(row.state) && row.promised?.for === 'wake' && row.promised.hostId === hostId;
  const goesOn = promisedFor ?? (isKept ? 'wake' : undefined);
  return goesOn !== undefined && REST.has(change.state) && change.state !== 'archived' ? { promised: { hostId, for: goesOn } } : {};
}

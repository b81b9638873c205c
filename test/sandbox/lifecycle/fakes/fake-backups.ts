import type { BackupRows, BackupTry, SandboxBackup } from '../../../../src/store/blobs/backups.ts';
import type { SandboxRow } from '../../../../src/store/sandbox-rows.ts';

/** What the rows of sandboxes say about backups, by virtual time; and what they have said, in order. */
export class FakeBackups {
  readonly stored: { fence: number; backup: SandboxBackup }[] = [];
  readonly #rows: Map<string, SandboxRow>;
  readonly #notBeforeMs = new Map<string, number>();

  constructor(rows: Map<string, SandboxRow>) {
    this.#rows = rows;
  }

  queries(): Pick<BackupRows, 'begin' | 'prolong' | 'finish' | 'fail' | 'release' | 'drop' | 'blobIds'> {
    const end = ({ sandboxId }: BackupTry, afterMs: number) => void this.#notBeforeMs.set(sandboxId, performance.now() + afterMs);
    return {
      begin: async (sandboxId) => {
        if ((this.#notBeforeMs.get(sandboxId) ?? 0) > performance.now()) return undefined;
        this.#notBeforeMs.set(sandboxId, performance.now() + 60_000);
        return { sandboxId, beganAt: String(performance.now()) };
      },
      prolong: async (attempt) => end(attempt, 60_000),
      finish: async (attempt, { fence }, { before, backup }) => {
        const row = this.#rows.get(attempt.sandboxId);
        if (row?.fence !== fence || row.state === 'destroyed' || row.backup?.parts.at(-1)?.blob.blobId !== before) return false;
        end(attempt, 0);
        if (backup === undefined) return true;
        this.stored.push({ fence, backup });
        this.#rows.set(attempt.sandboxId, { ...row, backup });
        return true;
      },
      fail: async (attempt, _problem, retryAfterMs) => end(attempt, retryAfterMs),
      release: async (attempt, afterMs) => end(attempt, afterMs),
      drop: async (sandboxId) => {
        const { backup, ...row } = this.#rows.get(sandboxId) ?? {};
        if (backup !== undefined) this.#rows.set(sandboxId, row as SandboxRow);
        return backup;
      },
      blobIds: async () =>
        [...this.#rows.values()]
          .filter(({ state }) => state !== 'destroyed')
          .flatMap(({ backup, archive }) => [
            ...(backup?.parts ?? []).map(({ blob }) => blob.blobId),
            ...(archive ? [archive.files.blobId] : []),
            ...(archive?.memory ? [archive.memory.blobId] : []),
          ]),
    };
  }
}

/** Files by name, as they are and as they were at checkpoints. A stream has what its checkpoints have added. */
export class FakeFiles {
  readonly names = new Set<string>();
  readonly #checkpoints: { number: number; at: string; names: string[] }[] = [];
  #packed: { to: number; at: string }[] = [];

  checkpoint(): { made: boolean; checkpoint: object; oldest: number } {
    const last = this.#checkpoints.at(-1);
    const names = [...this.names];
    const made = last?.names.length !== names.length;
    if (made) this.#checkpoints.push({ number: (last?.number ?? 0) + 1, at: new Date(Date.now()).toISOString(), names });
    const { number, at } = this.#checkpoints.at(-1)!;
    return { made, checkpoint: { number, at, files: names.length, bytes: names.length, changed: 1, addedBytes: 1, leftOut: 0 }, oldest: 1 };
  }

  /** Undefined when there is a newer checkpoint. */
  pack(number: number, at: string, known: string[] = []): { stream: string; since: number; bytes: number } | undefined {
    const newest = this.#checkpoints.at(-1);
    if (newest?.number !== number || newest.at !== at) return undefined;
    const streams = known.map((line) => line.split(' ')).map(([to, , time]) => ({ to: Number(to), at: time ?? '' }));
    const first = streams.findIndex((stream) => !this.#packed.some((each) => each.to === stream.to && each.at === stream.at));
    const kept = first < 0 ? streams : streams.slice(0, first);
    // From time to time all is sent anew.
    const since = kept.length > 3 ? 0 : (kept.at(-1)?.to ?? 0);
    this.#packed = [...kept.filter(({ to }) => to <= since), { to: number, at }];
    const before = new Set(this.#checkpoints.find((each) => each.number === since)?.names ?? []);
    const added = newest.names.filter((name) => !before.has(name));
    return { stream: `${JSON.stringify({ number, at, added, all: newest.names, packed: this.#packed })}\n`, since, bytes: added.length };
  }

  /** What a job makes of the streams of a backup; it throws when they are not all. */
  static bringBack(streams: string): FakeFiles {
    const files = new FakeFiles();
    const lines = streams
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { number: number; at: string; added: string[]; all: string[]; packed: { to: number; at: string }[] });
    for (const { added } of lines) for (const name of added) files.names.add(name);
    const { number, at, all, packed } = lines.at(-1)!;
    if (all.length !== files.names.size) throw new TypeError(`a backup is not whole: ${streams}`);
    files.#checkpoints.push({ number, at, names: all });
    files.#packed = packed;
    return files;
  }
}

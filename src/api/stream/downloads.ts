import { Tally } from '../../common/tally.ts';
import { failure } from '../../contracts/errors.ts';

/** Files, exports and patches that one key reads at the same time: each holds some MB of this process and of a worker, for as long as its reader likes. */
const DOWNLOADS_PER_KEY = 100;

/** What callers download now. It counts for itself: who has a link to a file takes no stream of the key that made the link. */
export interface Downloads {
  /** @throws DOWNLOAD_LIMIT when another one has no room */
  run<Result>(keyId: string, work: () => Promise<Result>): Promise<Result>;
}

export function createDownloads(): Downloads {
  const open = new Tally();
  return {
    async run(keyId, work) {
      if (open.of(keyId) >= DOWNLOADS_PER_KEY) throw failure('DOWNLOAD_LIMIT', { limit: DOWNLOADS_PER_KEY });
      open.add(keyId, 1);
      try {
        return await work();
      } finally {
        open.add(keyId, -1);
      }
    },
  };
}

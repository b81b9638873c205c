import TestSequencer from '@jest/test-sequencer';

/** Files that take minutes. Without a cache, Jest knows only how large they are. */
const LONG =
  /\/(?:chaos|crashes)\/[^/]*\.proof\.|\/(?:s3|attacks|disk-attacks|packed|lost-host|flat-memory|interleavings|tree|everything|two-engines|two-workers|warm-pools|long-conversation|killed-\w+)\.proof\./;

/** Those begin first, then other files of whole conversations: none of them runs alone at the end while the other processors are idle. */
export default class LongFilesFirst extends TestSequencer {
  async sort(tests) {
    const turnOf = ({ path }) => (LONG.test(path) ? 0 : path.includes('/test/e2e/') ? 1 : 2);
    // oxlint-disable-next-line unicorn/no-array-sort -- it is a method of the sequencer, and changes no array
    const sorted = await super.sort(tests);
    return sorted.toSorted((one, other) => turnOf(one) - turnOf(other));
  }
}

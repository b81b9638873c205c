import TestSequencer from '@jest/test-sequencer';

/** Other files that take minutes. */
const LONG = /\/(?:s3|attacks|disk-attacks|packed|lost-host|flat-memory|interleavings)\.proof\.test\.ts$/;

/** Files of whole conversations take longest, so they begin first: none of them runs alone at the end while the other processors are idle. */
export default class LongFilesFirst extends TestSequencer {
  async sort(tests) {
    const isLong = ({ path }) => path.includes('/test/e2e/') || LONG.test(path);
    // oxlint-disable-next-line unicorn/no-array-sort -- it is a method of the sequencer, and changes no array
    const sorted = await super.sort(tests);
    return [...sorted.filter(isLong), ...sorted.filter((test) => !isLong(test))];
  }
}

import { relative } from 'node:path';
import { env, stderr } from 'node:process';
import NodeEnvironment from 'jest-environment-node';

/** Files that begin after LONGSHORE_TESTS_UNTIL (seconds since 1970) are skipped as a whole, and named: a slow machine runs fewer of the longer proofs. */
export default class EnvironmentUntil extends NodeEnvironment {
  #file;

  constructor(config, context) {
    super(config, context);
    this.#file = relative(config.globalConfig.rootDir, context.testPath);
  }

  handleTestEvent({ name }, { rootDescribeBlock }) {
    if (name !== 'run_start' || Date.now() / 1000 < Number(env.LONGSHORE_TESTS_UNTIL || Infinity)) return;
    skip(rootDescribeBlock);
    stderr.write(`not run, because the time for tests is over: ${this.#file}\n`);
  }
}

/** Blocks within a block take its mode only where they are declared. */
function skip(block) {
  block.mode = 'skip';
  for (const child of block.children) if (child.type === 'describeBlock') skip(child);
}

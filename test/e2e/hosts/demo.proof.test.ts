import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../../../src/platform/config.ts';
import { runScript } from '../../support/run-script.ts';
import { testWithTwoEngines, titled } from './second-engine.ts';

/** It is not built for this test. */
const hasGvisor = existsSync(join(loadConfig().LONGSHORE_HOME, 'bin/runsc'));
const moved = hasGvisor ? /the same process counts on there|no process can be moved here, so files are/ : /its files are there: another program has begun/;

testWithTwoEngines(
  titled('the demo of two hosts drains one and kills the other; the conversation goes on with what it promises, and nothing is left'),
  async () => {
    const { code, said } = await runScript('scripts/demo-fleet/main.ts', ...(hasGvisor ? [] : ['--files']));
    // In one object, so that a failure shows the whole story.
    expect({ code, said }).toEqual({ code: 0, said: expect.stringMatching(moved) });
    expect(said).toMatch(/the conversation is told that it goes on with the backup of \d{4}-/);
    expect(said).toContain('nothing is left of this demo');
  },
  600_000,
);

import { readdir } from 'node:fs/promises';
import { createOwnEngine } from '../../../scripts/own-engine.ts';
import { runCommand } from '../../../src/platform/run-command.ts';
import { testWithTwoEngines, titled } from './second-engine.ts';

/** Each Docker engine has this name for its bridge. */
const BRIDGE = 'docker0';

testWithTwoEngines(titled('a second engine leaves the networks of the machine as they are'), async () => {
  const networks = async () => (await readdir('/sys/class/net')).filter((name) => !name.startsWith('veth'));
  // As if the engine of the environment had its bridge, where it has none.
  const isOurs = !(await networks()).includes(BRIDGE) && (await runCommand('ip', ['link', 'add', BRIDGE, 'type', 'bridge'])).code === 0;
  try {
    const before = await networks();
    await using engine = await createOwnEngine();
    await engine.start({ liveRestore: false });
    expect(await networks()).toEqual(before);
  } finally {
    if (isOurs) await runCommand('ip', ['link', 'delete', BRIDGE]);
  }
});

import { createOwnEngine, whyNoOwnEngine } from '../../../scripts/own-engine.ts';
import { loadConfig } from '../../../src/platform/config.ts';
import { runCommand } from '../../../src/platform/run-command.ts';

export const missing = await whyNoOwnEngine();
export const testWithTwoEngines = missing === undefined ? test : test.skip;

/** A title that says why the test is left out. */
export const titled = (title: string) => `${title}${missing === undefined ? '' : ` (left out: ${missing})`}`;

/** Another engine beside that of the environment, with the image of sandboxes, and with gVisor when its program is given. */
export async function secondEngine(given: { runsc?: string; data?: string } = {}) {
  const engine = await createOwnEngine(given);
  await engine.start({ liveRestore: false });
  await engine.takeImage(loadConfig().LONGSHORE_SANDBOX_IMAGE);
  const containers = async () => (await runCommand('docker', ['--host', engine.host, 'ps', '--format', '{{.Names}}'])).stdout.split('\n').filter(Boolean);
  return { ...engine, containers };
}

/** The shortest that the setting takes. */
export const LOST = { LONGSHORE_HOST_LOST_AFTER: '30s' };

/**
 * Runs the tests that need gVisor, whatever the engine of this machine can: builds the pinned runsc when it is missing (which takes Go), starts an engine of
 * its own with it beside the other, copies the sandbox image there, and runs the tests against it. As root. Without names it runs the conformance suite, which
 * then tries both runtimes, and everything about rest with memory. `DOCKERD` names another engine than the one on PATH.
 *   npm run test:gvisor [-- test/sandbox/lifecycle/rest/hibernate.test.ts]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../src/platform/config.ts';
import { ensureGvisorScript } from '../src/setup/gvisor-script.ts';
import { ensureRunsc } from '../src/setup/gvisor.ts';
import { createOwnEngine } from './own-engine.ts';

const NEED_IT = [
  'test/sandbox/conformance',
  'test/sandbox/engine/docker/gvisor.test.ts',
  ...['pool', 'snapshots', 'rest/archive', 'rest/hibernate', 'rest/wake-memory'].map((name) => `test/sandbox/lifecycle/${name}.test.ts`),
  ...['idle', 'plugins/mcp-in-sandbox', 'methods/methods'].map((name) => `test/e2e/${name}.test.ts`),
];

const { LONGSHORE_HOME: home, LONGSHORE_SANDBOX_IMAGE: image } = loadConfig();
await ensureRunsc({ home, log: console.log });
const { script } = await ensureGvisorScript(home);
await using engine = await createOwnEngine({ program: process.env['DOCKERD'] ?? 'dockerd', runsc: script });
await engine.start({ liveRestore: false });
try {
  await engine.takeImage(image);
  console.log(`gVisor on an engine ${await engine.version()} of its own`);
  const named = process.argv.slice(2);
  const jest = fileURLToPath(import.meta.resolve('jest/bin/jest'));
  const child = spawn(process.execPath, ['--experimental-vm-modules', '--no-warnings', jest, ...(named.length > 0 ? named : NEED_IT)], {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    env: { ...process.env, DOCKER_HOST: engine.host },
    stdio: 'inherit',
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  process.exitCode = code ?? 1;
} finally {
  await engine.end('SIGTERM');
}

/**
 * Runs the tests that need gVisor, whatever the engine of this machine can: builds the pinned runsc when it is missing (which takes Go), starts an engine of
 * its own with it beside the other, copies the sandbox image there, and runs the tests against it. As root. Without names it runs the conformance suite, which
 * then tries both runtimes, everything about rest with memory, and what the HTTP service does with sandboxes. Sandboxes of agents that name no runtime are
 * gVisor's. `DOCKERD` names another engine than the one on PATH.
 *   npm run test:gvisor [-- test/sandbox/lifecycle/rest/hibernate.test.ts]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../src/platform/config.ts';
import { ensureGvisorScript } from '../src/setup/gvisor-script.ts';
import { ensureRunsc } from '../src/setup/gvisor.ts';
import { createOwnEngine } from './own-engine.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Tests of what differs in gVisor. Added to them is every file that leaves tests out where an engine has no gVisor. */
const MAY_DIFFER = ['api/ports', 'api/sandbox', 'api/terminals', 'e2e/plugins/mcp-in-sandbox', 'sandbox/conformance', 'sandbox/lifecycle/pool'];
const LEAVES_OUT = /\b(describeWithGvisor(Script)?|LONGSHORE_TEST_GVISOR|RUNTIMES)\b/;

const { LONGSHORE_HOME: home, LONGSHORE_SANDBOX_IMAGE: image } = loadConfig();
await ensureRunsc({ home, log: console.log });
const { script } = await ensureGvisorScript(home);
await using engine = await createOwnEngine({ runsc: script });
await engine.start({ liveRestore: false });
try {
  await engine.takeImage(image);
  console.log(`gVisor on an engine ${await engine.version()} of its own`);
  const named = process.argv.slice(2);
  const jest = fileURLToPath(import.meta.resolve('jest/bin/jest'));
  const child = spawn(process.execPath, ['--experimental-vm-modules', '--no-warnings', jest, ...(named.length > 0 ? named : await allThatNeedIt())], {
    cwd: ROOT,
    env: { ...process.env, DOCKER_HOST: engine.host, LONGSHORE_TEST_RUNTIME: 'runsc', LONGSHORE_TEST_PROOFS: 'too' },
    stdio: 'inherit',
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  process.exitCode = code ?? 1;
} finally {
  await engine.end('SIGTERM');
}

async function allThatNeedIt(): Promise<string[]> {
  const names = (await readdir(join(ROOT, 'test'), { recursive: true })).filter((name) => name.endsWith('.test.ts'));
  const texts = await Promise.all(names.map((name) => readFile(join(ROOT, 'test', name), 'utf8')));
  return [...MAY_DIFFER, ...names.filter((_, index) => LEAVES_OUT.test(texts[index] ?? ''))].map((name) => `test/${name}`);
}

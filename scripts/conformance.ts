/**
 * Runs the conformance suite against one backend: `docker` (the default; on the engine of DOCKER_HOST), `docker-gvisor` (the same with its runtime runsc),
 * `local`, or a module of your own.
 *   npx tsx scripts/conformance.ts ./backend.ts
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const backend = process.argv[2] ?? 'docker';
const jest = fileURLToPath(import.meta.resolve('jest/bin/jest'));
const environment = { ...process.env, LONGSHORE_CONFORMANCE_BACKEND: backend, LONGSHORE_TEST_PROOFS: 'too' };
const child = spawn(process.execPath, ['--experimental-vm-modules', '--no-warnings', jest, 'test/sandbox/conformance', ...process.argv.slice(3)], {
  cwd: fileURLToPath(new URL('..', import.meta.url)),
  env: environment,
  stdio: 'inherit',
});
const [code] = (await once(child, 'exit')) as [number | null];
process.exitCode = code ?? 1;

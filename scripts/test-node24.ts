/**
 * Runs the tests under the Node.js that Longshore recommends, whatever Node.js this machine has: npm has it as a package, which is installed once into
 * LONGSHORE_HOME. Without arguments all tests; `--short` runs those that depend most on the runtime; names are patterns as jest takes them.
 *   npm run test:node24 [-- --short | test/plugins]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../src/platform/config.ts';
import { installPinnedPackages } from '../src/setup/pinned-packages.ts';

/** Processes of plugins with their limits, native modules, streams, the command line, the package, and one conversation from end to end. */
const SHORT = [
  'test/plugins/isolates',
  'test/sandbox/protocol',
  'test/sandbox/handle',
  'test/store/(?!s3|database/online-migrations)',
  'test/cli/commands',
  'test/package',
  'test/e2e/conversation',
];

const fix = 'Use a Node.js 24 of your own, and run npm test with it';
const modules = await installPinnedPackages({ name: 'node', home: loadConfig().LONGSHORE_HOME, log: console.log, fix });
const node = join(modules, `node-${process.platform}-${process.arch}`, 'bin/node');
if (!existsSync(node)) throw new Error(`npm has no Node.js 24 for ${process.platform} on ${process.arch}. ${fix}.`);

const [first, ...rest] = process.argv.slice(2);
// One file of the short form may be run again alone.
const short = rest.includes('--runTestsByPath') ? [] : SHORT;
const patterns = first === '--short' ? [...short, ...rest] : process.argv.slice(2);
const jest = fileURLToPath(import.meta.resolve('jest/bin/jest'));
const child = spawn(node, ['--experimental-vm-modules', '--no-warnings', jest, ...patterns], {
  cwd: fileURLToPath(new URL('..', import.meta.url)),
  // Programs that tests start by the name `node` are to be this one as well.
  env: { ...process.env, LONGSHORE_TEST_PROOFS: 'too', PATH: `${dirname(node)}${delimiter}${process.env['PATH'] ?? ''}` },
  stdio: 'inherit',
});
const [code] = (await once(child, 'exit')) as [number | null];
process.exitCode = code ?? 1;

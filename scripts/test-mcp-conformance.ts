/**
 * Runs the scenarios for clients of the official conformance suite of the Model Context Protocol, one after the other, since some measure times. It fails when one
 * fails that is not known to fail, or when one that is passes. The suite needs Node.js 22; it and a Node.js are installed once into LONGSHORE_HOME.
 *   npm run test:mcp-conformance [-- sse-retry …]
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../src/platform/config.ts';
import { runCommand } from '../src/platform/run-command.ts';
import { installPinnedPackages } from '../src/setup/pinned-packages.ts';
import { KNOWN_FAILURES } from './mcp/known-failures.ts';

const { LONGSHORE_HOME: home } = loadConfig();
const installed = { home, log: console.log, fix: 'Look at what npm says' };
const suite = await installPinnedPackages({ name: 'mcp-conformance', ...installed });
const node = join(await installPinnedPackages({ name: 'node', ...installed }), `node-${process.platform}-${process.arch}`, 'bin/node');
const program = join(suite, '@modelcontextprotocol/conformance/dist/index.js');
const driver = fileURLToPath(new URL('mcp/conformance-client.ts', import.meta.url));
const command = `${process.execPath} ${fileURLToPath(import.meta.resolve('tsx/cli'))} ${driver}`;

const scenarios = process.argv.length > 2 ? process.argv.slice(2) : await list();
const surprises: string[] = [];
let passed = 0;
for (const scenario of scenarios) {
  const { code, stdout, stderr } = await runCommand(node, [program, 'client', '--command', command, '--scenario', scenario, '--timeout', '60000']);
  const passes = code === 0;
  if (passes) passed += 1;
  const why = KNOWN_FAILURES[scenario];
  console.log(`${passes ? 'passes' : 'fails '}  ${scenario}${passes || why === undefined ? '' : ` (${why})`}`);
  if (passes === (why === undefined)) continue;
  surprises.push(`${scenario} ${passes ? 'passes now: take it out of the list' : `fails:\n${stdout}${stderr}`}`);
}
console.log(`${passed} of ${scenarios.length} scenarios pass.`);
for (const surprise of surprises) console.error(surprise);
process.exitCode = surprises.length === 0 ? 0 : 1;

/** The scenarios for clients, of which the suite prints one a line below their heading. */
async function list(): Promise<string[]> {
  const { stdout } = await runCommand(node, [program, 'list']);
  return (stdout.split('Client scenarios')[1] ?? '').split('\n').flatMap((line) => /^ {2}- (\S+)/.exec(line)?.[1] ?? []);
}

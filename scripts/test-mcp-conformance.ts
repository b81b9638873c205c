/**
 * Runs the scenarios for clients of the official conformance suite of the Model Context Protocol, one after the other, since some measure times: each in the newest revision
 * of each generation that it is about. It fails when one fails that is not known to fail, or when one that is passes. The suite needs Node.js 22; it and a Node.js are
 * installed once into LONGSHORE_HOME.
 *   npm run test:mcp-conformance [-- sse-retry …]
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../src/platform/config.ts';
import { runCommand } from '../src/platform/run-command.ts';
import { installPinnedPackages } from '../src/setup/pinned-packages.ts';
import { KNOWN_FAILURES } from './mcp/known-failures.ts';

/** The newest revision of each generation. */
const REVISIONS = ['2025-11-25', '2026-07-28'];

const { LONGSHORE_HOME: home } = loadConfig();
const installed = { home, log: console.log, fix: 'Look at what npm says' };
const suite = await installPinnedPackages({ name: 'mcp-conformance', ...installed });
const node = join(await installPinnedPackages({ name: 'node', ...installed }), `node-${process.platform}-${process.arch}`, 'bin/node');
const program = join(suite, '@modelcontextprotocol/conformance/dist/index.js');
const driver = fileURLToPath(new URL('mcp/conformance-client.ts', import.meta.url));
const command = `${process.execPath} ${fileURLToPath(import.meta.resolve('tsx/cli'))} ${driver}`;

const wanted = process.argv.slice(2);
const required = new Map(
  await Promise.all(REVISIONS.map(async (revision) => [revision, (await list(['--requirements', revision])).map(({ name }) => name)] as const)),
);
const runs = (await list([])).filter(({ name }) => wanted.length === 0 || wanted.includes(name)).flatMap(runsOf);
const surprises: string[] = [];
const passed: Run[] = [];
for (const run of runs) {
  const { scenario, revision } = run;
  const asked = [...(revision === undefined ? [] : ['--spec-version', revision]), '--timeout', '60000'];
  const { code, stdout, stderr } = await runCommand(node, [program, 'client', '--command', command, '--scenario', scenario, ...asked]);
  const passes = code === 0;
  if (passes) passed.push(run);
  const why = KNOWN_FAILURES[scenario];
  const shown = `${scenario}${revision === undefined ? '' : ` (${revision})`}`;
  console.log(`${passes ? 'passes' : 'fails '}  ${shown}${passes || why === undefined ? '' : ` (${why})`}`);
  if (passes === (why === undefined)) continue;
  surprises.push(`${shown} ${passes ? 'passes now: take it out of the list' : `fails:\n${stdout}${stderr}`}`);
}
for (const revision of REVISIONS) {
  const isCounted = (run: Run) => run.revision === revision && required.get(revision)?.includes(run.scenario);
  console.log(`${passed.filter(isCounted).length} of ${runs.filter(isCounted).length} scenarios pass that ${revision} requires of clients.`);
}
console.log(`${passed.length} of ${runs.length} scenarios pass.`);
for (const surprise of surprises) console.error(surprise);
process.exitCode = surprises.length === 0 ? 0 : 1;

interface Run {
  scenario: string;
  /** Absent: the suite chooses it. */
  revision?: string;
}

/** Once for each of the revisions that it is about; once for one that is about others, or about an extension. */
function runsOf({ name: scenario, revisions }: { name: string; revisions: string[] }): Run[] {
  const known = REVISIONS.filter((revision) => revisions.includes(revision));
  return known.length === 0 ? [{ scenario }] : known.map((revision) => ({ scenario, revision }));
}

/** The scenarios for clients, of which the suite prints one a line below their heading, with the revisions that each is about. */
async function list(more: string[]): Promise<{ name: string; revisions: string[] }[]> {
  const { stdout } = await runCommand(node, [program, 'list', ...more]);
  const [, section = ''] = stdout.split('Client scenarios');
  const lines = section.split('\n\n')[0]?.split('\n') ?? [];
  return lines.flatMap((line) => {
    const [, name, revisions = ''] = /^ {2}- (\S+)(?: \[([^\]]*)\])?/.exec(line) ?? [];
    return name === undefined ? [] : [{ name, revisions: revisions.split(',') }];
  });
}

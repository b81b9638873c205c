/**
 * Runs the scenarios for clients of the official conformance suite of the Model Context Protocol. It fails when one fails that is not in
 * `mcp/expected-failures.yaml`, or when one of that list passes. The suite needs Node.js 22; it and a Node.js are installed once into LONGSHORE_HOME.
 *   npm run test:mcp-conformance [-- --scenario sse-retry]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../src/platform/config.ts';
import { installPinnedPackages } from '../src/setup/pinned-packages.ts';

const { LONGSHORE_HOME: home } = loadConfig();
const installed = { home, log: console.log, fix: 'Look at what npm says' };
const suite = await installPinnedPackages({ name: 'mcp-conformance', ...installed });
const node = join(await installPinnedPackages({ name: 'node', ...installed }), `node-${process.platform}-${process.arch}`, 'bin/node');

const pathOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const command = `${process.execPath} ${fileURLToPath(import.meta.resolve('tsx/cli'))} ${pathOf('mcp/conformance-client.ts')}`;
const chosen = process.argv.length > 2 ? process.argv.slice(2) : ['--suite', 'all'];
const options = ['--command', command, '--timeout', '60000', '--expected-failures', pathOf('mcp/expected-failures.yaml'), ...chosen];
const child = spawn(node, [join(suite, '@modelcontextprotocol/conformance/dist/index.js'), 'client', ...options], { stdio: 'inherit' });
const [code] = (await once(child, 'exit')) as [number | null];
process.exitCode = code ?? 1;

/**
 * Checks the Python of this repository: ruff (rules and format), mypy in its strict mode, and the tests of the supervisor's parts with each Python that
 * this machine has of those below; pyproject.toml says how. All three are installed once from PyPI into LONGSHORE_HOME. What cannot be checked here, for
 * lack of a Python or of a way to PyPI, it says.
 *   npm run check:python
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../src/platform/config.ts';
import { ownPython, pythonAt, pythonEnvironment, type PythonProgram } from './python-environment.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const CHECKS = [
  ['ruff', 'check', '--quiet'],
  ['ruff', 'format', '--check', '--quiet'],
  ['mypy', '--no-error-summary'],
];
/** The oldest that is supported, the one of the sandbox image, and the newest that is widespread: users bring their own images. */
const TESTED = ['3.9', '3.11', '3.13'];
const OFFLINE = 'PyPI cannot be reached, so its packages cannot be installed. SKIPPED:';

const say = (line: string) => console.log(`check:python: ${line}`);
const { LONGSHORE_HOME: home } = loadConfig();

const own = await ownPython();
const program = await pythonEnvironment({ python: own, list: 'requirements', home, log: say });
if (program === undefined) say(`${OFFLINE} rules, format and types of Python.`);
else for (const check of CHECKS) await run(program, check, '');

for (const version of TESTED) {
  const python = own.version === version ? own : await findPython(version);
  if (python === undefined) {
    say(`this machine has no Python ${version}. SKIPPED: tests with it.`);
    continue;
  }
  const tests = await pythonEnvironment({ python, list: 'tests', home, log: say });
  if (tests === undefined) say(`${OFFLINE} tests with Python ${version}.`);
  else await run(tests, ['pytest'], ` with Python ${version}`);
}

/** On PATH, or one of pyenv's that is not chosen. */
async function findPython(version: string): Promise<PythonProgram | undefined> {
  const directory = join(process.env['PYENV_ROOT'] ?? join(homedir(), '.pyenv'), 'versions');
  const names = (await readdir(directory).catch(() => [])).filter((name) => name.startsWith(`${version}.`));
  for (const candidate of [`python${version}`, ...names.map((name) => join(directory, name, 'bin/python3'))]) {
    const found = await pythonAt(candidate);
    if (found?.version === version) return found;
  }
  return undefined;
}

async function run(python: string, check: string[], what: string): Promise<void> {
  const child = spawn(python, ['-B', '-m', ...check], { cwd: ROOT, stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  say(`${check.filter((word) => !word.startsWith('-')).join(' ')}${what}: ${code === 0 ? 'passed' : 'FAILED'}`);
  if (code !== 0) process.exitCode = 1;
}

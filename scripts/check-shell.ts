/**
 * Checks the shell programs of this repository with shellcheck, which is installed once from PyPI into LONGSHORE_HOME. Without a way to PyPI it says that
 * nothing was checked.
 *   npm run check:shell
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../src/platform/config.ts';
import { ownPython, pythonEnvironment } from './python-environment.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FOLDERS = ['src', 'scripts', 'test'];

const say = (line: string) => console.log(`check:shell: ${line}`);
const { LONGSHORE_HOME: home } = loadConfig();

const python = await pythonEnvironment({ python: await ownPython(), list: 'shell', home, log: say });
if (python === undefined) say('PyPI cannot be reached, so shellcheck cannot be installed. SKIPPED.');
else {
  const names = await Promise.all(FOLDERS.map(async (folder) => (await readdir(join(ROOT, folder), { recursive: true })).map((name) => join(folder, name))));
  const programs = ['.ci/run', ...names.flat().filter((name) => name.endsWith('.sh'))];
  const [code] = (await once(spawn(join(dirname(python), 'shellcheck'), programs, { cwd: ROOT, stdio: 'inherit' }), 'exit')) as [number | null];
  say(`${programs.length} programs: ${code === 0 ? 'passed' : 'FAILED'}`);
  if (code !== 0) process.exitCode = 1;
}

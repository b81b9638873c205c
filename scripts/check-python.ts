/**
 * Checks the Python of this repository: ruff (rules and format) and mypy in its strict mode, as pyproject.toml has them.
 * Both are installed once from PyPI into LONGSHORE_HOME; where PyPI cannot be reached, it says what it leaves out.
 *   npm run check:python
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../src/platform/config.ts';
import { runCommand } from '../src/platform/run-command.ts';
import { pythonEnvironment } from './python-environment.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const CHECKS = [
  ['ruff', 'check', '--quiet'],
  ['ruff', 'format', '--check', '--quiet'],
  ['mypy', '--no-error-summary'],
];

const say = (line: string) => console.log(`check:python: ${line}`);

const version = await versionOf('python3');
if (version === undefined) throw new Error('There is no python3 on PATH, or it is older than 3.9. Install Python 3.9 or newer and run this again.');
const environment = await pythonEnvironment('python3', version, loadConfig().LONGSHORE_HOME, say);
if (environment.state === 'offline') {
  say('PyPI cannot be reached, so ruff and mypy cannot be installed. SKIPPED: rules, format and types of Python.');
} else {
  for (const check of CHECKS) {
    const passed = await run(environment.python, ['-m', ...check]);
    say(`${check.join(' ')}: ${passed ? 'passed' : 'FAILED'}`);
    if (!passed) process.exitCode = 1;
  }
}

/** Its major and minor number; undefined when there is no such program, or it is too old for the checks. */
async function versionOf(python: string): Promise<string | undefined> {
  const { code, stdout } = await runCommand(python, ['-c', "import sys; print('%d.%d' % sys.version_info[:2]); sys.exit(sys.version_info < (3, 9))"]);
  return code === 0 ? stdout.trim() : undefined;
}

async function run(program: string, args: string[]): Promise<boolean> {
  const child = spawn(program, args, { cwd: ROOT, stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code === 0;
}

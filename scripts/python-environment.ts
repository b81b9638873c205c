import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { withLock } from '../src/platform/lock.ts';
import { runCommand } from '../src/platform/run-command.ts';

const REQUIREMENTS = join(import.meta.dirname, 'python/requirements.txt');
/** What pip says when it reaches no index, and then that the index has no such version. */
const OFFLINE = /NewConnectionError|ConnectTimeoutError|ReadTimeoutError|ProxyError|Failed to establish|name resolution|Connection refused/i;

export type PythonEnvironment = { state: 'ready'; python: string } | { state: 'offline' };

/**
 * The pinned packages of `scripts/python` in a virtual environment of their own, one per Python and list of packages.
 * Installs them from PyPI when they are not there yet.
 * @returns the environment's Python; `offline` when PyPI cannot be reached.
 */
export async function pythonEnvironment(python: string, version: string, home: string, log: (line: string) => void): Promise<PythonEnvironment> {
  const hash = createHash('sha256')
    .update(await readFile(REQUIREMENTS))
    .digest('hex');
  const directory = join(home, 'packages', `python-${version}-${hash.slice(0, 12)}`);
  const ready = { state: 'ready', python: join(directory, 'bin/python') } as const;
  if (existsSync(directory)) return ready;
  return await withLock(join(home, `packages-python-${version}.lock`), async () => {
    if (existsSync(directory)) return ready;
    log(`installing ${await pinned()} from PyPI for Python ${version} into ${home} (once)`);
    // Made beside and renamed: a directory that exists is complete.
    const partial = `${directory}.${process.pid}`;
    await mkdir(join(home, 'packages'), { recursive: true });
    try {
      if (!(await install(python, partial))) return { state: 'offline' };
      await rename(partial, directory);
    } finally {
      await rm(partial, { recursive: true, force: true });
    }
    return ready;
  });
}

async function install(python: string, directory: string): Promise<boolean> {
  const made = await runCommand(python, ['-m', 'venv', directory]);
  if (made.code !== 0)
    throw new Error(`${python} -m venv failed: ${lastLines(made)}. Install what it names, on Debian the package python3-venv, and run this again.`);
  // Programs of packages do not run while they are installed, and each file has the digest of the list.
  const flags = ['--quiet', '--no-input', '--disable-pip-version-check', '--only-binary=:all:', '--require-hashes'];
  const installed = await runCommand(join(directory, 'bin/python'), ['-m', 'pip', 'install', ...flags, '-r', REQUIREMENTS]);
  if (installed.code === 0) return true;
  if (OFFLINE.test(installed.stderr)) return false;
  throw new Error(`pip cannot install ${REQUIREMENTS}: ${lastLines(installed)}`);
}

async function pinned(): Promise<string> {
  const names = ['ruff', 'mypy', 'pytest'];
  const lines = (await readFile(REQUIREMENTS, 'utf8')).split('\n');
  return names.map((name) => (lines.find((line) => line.startsWith(`${name}==`)) ?? name).split(' ')[0]?.replace('==', ' ')).join(', ');
}

function lastLines({ stdout, stderr }: { stdout: string; stderr: string }): string {
  return (stderr.trim() || stdout.trim()).split('\n').slice(-3).join(' ');
}

import { existsSync } from 'node:fs';
import { failure } from '../contracts/errors.ts';
import { userLock, withLock } from '../platform/lock.ts';
import { mustRun, runCommand } from '../platform/run-command.ts';

/** True when the program is on PATH. */
export async function hasProgram(program: string): Promise<boolean> {
  return (await runCommand('sh', ['-c', 'command -v "$0"', program])).code === 0;
}

/** Installs Debian packages. Works only as root on an apt system; elsewhere the error says what to install. */
export async function installPackages(packages: string[], log: (line: string) => void, signal?: AbortSignal): Promise<void> {
  const command = `apt-get install ${packages.join(' ')}`;
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) {
    throw failure('SETUP_FAILED', {
      step: `Installing ${packages.join(', ')}`,
      problem: 'system packages are installed only by root on an apt system',
      fix: `Install them yourself, for example: sudo ${command}`,
    });
  }
  const work = async () => {
    log(`${command} (as root)`);
    const env = { DEBIAN_FRONTEND: 'noninteractive' };
    const fix = 'Correct the package sources, or install them by other means';
    await mustRun('Reading the package lists', 'apt-get', ['update', '-qq'], { env, fix, signal });
    // Another package manager may hold the lock, most often on a new machine.
    const options = ['-y', '-qq', '-o', 'DPkg::Lock::Timeout=300', '--no-install-recommends'];
    await mustRun(`Installing ${packages.join(', ')}`, 'apt-get', ['install', ...options, ...packages], { env, fix, signal });
  };
  await withLock(userLock('apt.lock'), work, signal);
}

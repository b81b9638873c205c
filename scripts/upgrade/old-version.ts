import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { connect } from '../../src/client.ts';
import { mustRun, runCommand } from '../../src/platform/run-command.ts';
import type { ensureSandboxImage } from '../../src/setup/sandbox-image.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Images of sandboxes belong to a version as well; the current one keeps its tag. */
const IMAGE = 'longshore-sandbox:before-upgrade';

/** An older version of this repository, built in a directory of its own, which goes with it. */
export interface OldVersion extends AsyncDisposable {
  directory: string;
  image: string;
  /** It has LONGSHORE_WORKER_VERSION. */
  hasVersions: boolean;
  connect: typeof connect;
}

/** @throws when the history has no such revision, or it does not build. */
export async function openOldVersion(revision: string): Promise<OldVersion> {
  const { stdout, code } = await runCommand('git', ['-C', ROOT, 'rev-parse', '--verify', '--quiet', `${revision}^{commit}`]);
  if (code !== 0)
    throw new Error(`The history of this directory has no revision "${revision}". Clone the repository with its history, or name another: --from REVISION.`);
  const directory = await mkdtemp(join(tmpdir(), 'longshore-upgrade-'));
  try {
    const fix = 'Name another revision: --from REVISION';
    await mustRun('Cloning the repository', 'git', ['clone', '--quiet', '--shared', '--no-checkout', ROOT, directory], { fix });
    await mustRun('Taking the older version', 'git', ['-C', directory, 'checkout', '--quiet', '--detach', stdout.trim()], { fix });
    await mustRun('Installing its packages', 'npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: directory, fix });
    await mustRun('Building it', 'npm', ['run', '--silent', 'build'], { cwd: directory, fix });
    const { ensureSandboxImage: ensure } = await from<{ ensureSandboxImage: typeof ensureSandboxImage }>(directory, 'setup/sandbox-image.js');
    await ensure({ image: IMAGE, log: console.log });
    const client = await from<{ connect: typeof connect }>(directory, 'client.js');
    return {
      directory,
      image: IMAGE,
      hasVersions: (await readFile(join(directory, 'dist/platform/config.js'), 'utf8')).includes('LONGSHORE_WORKER_VERSION'),
      connect: client.connect,
      [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
    };
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    throw error;
  }
}

async function from<Module>(directory: string, path: string): Promise<Module> {
  return (await import(pathToFileURL(join(directory, 'dist', path)).href)) as Module;
}

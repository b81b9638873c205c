import { createHash } from 'node:crypto';
import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureBaseImage, imageLabel, INPUTS_LABEL } from './base-image.ts';
import { userLock, withLock } from '../platform/lock.ts';
import { mustRun, runCommand } from '../platform/run-command.ts';
import { imageLabels } from '../sandbox/engine/docker/reports.ts';

const DEFINITION = join(import.meta.dirname, '../../images/sandbox');
const SUPERVISOR = join(import.meta.dirname, '../sandbox/supervisor');

export interface SandboxImageOptions {
  image: string;
  /** Called with each step of the build; not called when the image is current. */
  log: (line: string) => void;
  signal?: AbortSignal | undefined;
}

/** Builds the sandbox image when it is missing or was made from other files. Returns whether it did. */
export async function ensureSandboxImage({ image, log, signal }: SandboxImageOptions): Promise<'present' | 'built'> {
  if ((await imageLabel(image)) === (await sandboxImageInputs())) return 'present';
  const ensure = async () => {
    const inputs = await sandboxImageInputs();
    if ((await imageLabel(image)) === inputs) return 'present';
    const packages = await sandboxPackages();
    const base = await ensureBaseImage(packages, log, signal);
    log(`building ${image} on ${base}`);
    await build({ image, base, inputs, signal });
    return 'built' as const;
  };
  return await withLock(userLock('image.lock'), ensure, signal);
}

/**
 * `stale`: the image was made from other files than those of this Longshore. `unlabelled`: it does not say, since something else than the set-up has built it.
 * @param host as in `DOCKER_HOST`
 */
export async function sandboxImageState(image: string, host: string | undefined): Promise<'missing' | 'stale' | 'current' | 'unlabelled'> {
  const labels = await imageLabels(host, image);
  if (labels === undefined) return 'missing';
  const inputs = labels[INPUTS_LABEL];
  if (inputs === undefined) return 'unlabelled';
  return inputs === (await sandboxImageInputs()) ? 'current' : 'stale';
}

async function sandboxPackages(): Promise<string[]> {
  return (await readFile(join(DEFINITION, 'packages.txt'), 'utf8')).split('\n').filter((line) => line !== '');
}

async function build({ image, base, inputs, signal }: { image: string; base: string; inputs: string; signal: AbortSignal | undefined }): Promise<void> {
  const context = await mkdtemp(join(tmpdir(), 'longshore-image-'));
  try {
    // The same layout as in the repository, so that the Dockerfile also builds from there.
    await cp(DEFINITION, join(context, 'images/sandbox'), { recursive: true });
    for (const name of await supervisorFiles()) await cp(join(SUPERVISOR, name), join(context, 'src/sandbox/supervisor', name));
    const labels = ['--label', `${INPUTS_LABEL}=${inputs}`, '--label', 'longshore.image=sandbox'];
    const args = ['build', '--network=host', '-f', join(context, 'images/sandbox/Dockerfile'), '--build-arg', `BASE=${base}`, ...labels, '-t', image];
    // The docker package of a distribution often has no buildx, and the Dockerfile does not need it.
    const hasBuildx = (await runCommand('docker', ['buildx', 'version'])).code === 0;
    await mustRun('Building the sandbox image', 'docker', [...args, context], {
      env: hasBuildx ? {} : { DOCKER_BUILDKIT: '0' },
      fix: 'Remove the cause and run: longshore setup --image',
      signal,
    });
  } finally {
    await rm(context, { recursive: true, force: true });
  }
  // Removes only images without a name (the new image took it) that no container uses.
  await runCommand('docker', ['image', 'prune', '--force', '--filter', 'label=longshore.image=sandbox']);
}

/** One hash over the names and contents of all files that the image is made from. */
export async function sandboxImageInputs(): Promise<string> {
  const hash = createHash('sha256');
  const add = async (directory: string, names: string[]) => {
    for (const name of names)
      hash
        .update(`${name}\0`)
        .update(await readFile(join(directory, name)))
        .update('\0');
  };
  await add(DEFINITION, (await readdir(DEFINITION)).toSorted());
  await add(SUPERVISOR, await supervisorFiles());
  return hash.digest('hex').slice(0, 32);
}

async function supervisorFiles(): Promise<string[]> {
  const names = await readdir(SUPERVISOR, { recursive: true });
  return names.filter((name) => /\.(py|cjs|mjs)$/.test(name) || name === 'protocol.json').toSorted();
}

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { failure } from '../contracts/errors.ts';
import { userLock, withLock } from '../platform/lock.ts';
import { readProgram } from '../platform/read-program.ts';
import { mustRun, runCommand } from '../platform/run-command.ts';
import { seccompProfile } from '../sandbox/engine/docker/seccomp/profile.ts';
import { beginning, imageDefinition } from './image-definition.ts';
import { namesOnTheWay, removeLeftovers } from './remove-leftovers.ts';
import { templateImages } from './template-images.ts';
import type { Template, TemplateBuild } from '../definitions/templates/template.ts';

export interface BuildOptions {
  /** The base of templates that name no other base. */
  standardImage: string;
  /** Called with every line of the build's output. */
  log: (line: string) => void;
  /** Builds the image again when it exists. */
  force?: boolean;
  /** Ends the build; what was made only on the way is removed. */
  signal?: AbortSignal;
}

const PROBE = readProgram(import.meta.url, 'programs/find-missing.sh');

/**
 * Builds a template's image unless it exists. `nothing`: the template has no image to build. After a build, removes the images of its earlier definitions that
 * no container uses, and what killed builds have left.
 */
export async function buildTemplate(template: Template, options: BuildOptions): Promise<'present' | 'built' | 'nothing'> {
  const { name, build } = template;
  const { image } = template.options;
  if (!build || image === undefined) {
    if (image !== undefined) await probe(name, image, options);
    return 'nothing';
  }
  if (!options.force && (await isThere(image))) return 'present';
  const work = () => buildUnderLock({ name, image, build }, options);
  return await withLock(userLock(`template-${name}.lock`), work, options.signal);
}

interface Wanted {
  name: string;
  image: string;
  build: TemplateBuild;
}

async function buildUnderLock({ name, image, build }: Wanted, options: BuildOptions): Promise<'present' | 'built'> {
  if (!options.force && (await isThere(image))) return 'present';
  options.log(`building ${image}`);
  options.signal?.throwIfAborted();
  try {
    await make({ name, image, build }, options);
  } catch (error) {
    // Workers in containers of their own share the engine and no lock: another one may have built it, and removed what both make on the way.
    if (options.force || options.signal?.aborted || !(await isThere(image))) throw error;
    return 'present';
  }
  for (const { image: other } of await templateImages(name)) {
    // The engine refuses to remove an image that a container uses.
    if (other !== image) await runCommand('docker', ['image', 'rm', other]);
  }
  await removeLeftovers(name);
  return 'built';
}

async function isThere(image: string): Promise<boolean> {
  return (await runCommand('docker', ['image', 'inspect', image])).code === 0;
}

async function make({ name, image, build }: Wanted, options: BuildOptions): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'longshore-template-'));
  const { marked, own } = namesOnTheWay(image);
  const write = (lines: string) => writeFile(join(directory, 'Dockerfile'), lines);
  try {
    if (build.dockerfile !== undefined) {
      await write(`${beginning().join('\n')}\n`);
      await dockerBuild(name, ['--build-arg', `BASE=${options.standardImage}`, '-t', marked, directory], options);
      await dockerBuild(name, ['-f', build.dockerfile, '--build-arg', `BASE=${marked}`, '-t', own, dirname(build.dockerfile)], options);
    }
    const base = build.dockerfile === undefined ? (build.base ?? options.standardImage) : own;
    await probe(name, base, options);
    await write(imageDefinition(build, name, image));
    await dockerBuild(name, ['--build-arg', `BASE=${base}`, '-t', image, directory], options);
  } finally {
    await rm(directory, { recursive: true, force: true });
    if (build.dockerfile !== undefined) await runCommand('docker', ['image', 'rm', own, marked]);
  }
}

async function dockerBuild(name: string, args: string[], { log, signal }: BuildOptions): Promise<void> {
  // A distribution's docker often comes without buildx, and none is needed.
  const hasBuildx = (await runCommand('docker', ['buildx', 'version'])).code === 0;
  // The classic builder leaves its containers where a build fails or is interrupted.
  await mustRun(`Building template "${name}"`, 'docker', ['build', '--network=host', ...(hasBuildx ? [] : ['--force-rm']), ...args], {
    env: hasBuildx ? {} : { DOCKER_BUILDKIT: '0' },
    onLine: log,
    signal,
    fix: `Correct the template and run: longshore template build ${name}`,
  });
}

async function probe(name: string, image: string, { signal }: BuildOptions): Promise<void> {
  const step = `Building template "${name}"`;
  const fix = `Is "${image}" an image that this engine has or can pull, with a shell in it?`;
  const said = await withProfile((profile) => {
    const fence = ['--network=none', '--security-opt=no-new-privileges:true', `--security-opt=seccomp=${profile}`];
    return mustRun(step, 'docker', ['run', '--rm', ...fence, '--user=0:0', '--entrypoint=sh', image, '-c', PROBE], { fix, signal });
  });
  const missing = /missing:(.*)/.exec(said)?.[1]?.trim() ?? '';
  if (missing === '') return;
  const cure = 'Begin a Dockerfile with ARG BASE and FROM ${BASE}, or leave image and dockerfile out and name packages';
  throw failure('SETUP_FAILED', { step, problem: `"${image}" cannot hold a sandbox, it lacks: ${missing.split(/\s+/).join(', ')}`, fix: cure });
}

/** `docker run` takes the path of a profile, so the profile is written to a temporary file. */
async function withProfile<Result>(work: (path: string) => Promise<Result>): Promise<Result> {
  const directory = await mkdtemp(join(tmpdir(), 'longshore-seccomp-'));
  try {
    const path = join(directory, 'seccomp.json');
    await writeFile(path, JSON.stringify(seccompProfile()));
    return await work(path);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

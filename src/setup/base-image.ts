import { spawn } from 'node:child_process';
import { pipeline } from 'node:stream/promises';
import { failure } from '../contracts/errors.ts';
import { runCommand } from '../platform/run-command.ts';
import { hasProgram, installPackages } from './system-packages.ts';

const SUITE = 'bookworm';
const PUBLIC_BASE = `debian:${SUITE}-slim`;
const OWN_BASE = `longshore-base:${SUITE}`;
const PULL_TIMEOUT_MS = 180_000;
/** Label that identifies what an image was made from. */
export const INPUTS_LABEL = 'longshore.inputs';

/**
 * Finds the Debian image that the other images are built on, in this order: one that was built here before with the same packages; the public one, local or
 * pulled; a new one that is built here from Debian packages. The last contains `packages`, so that a later build needs no network. Returns its name.
 */
export async function ensureBaseImage(packages: string[], log: (line: string) => void, signal?: AbortSignal): Promise<string> {
  const inputs = packages.join(',');
  if ((await imageLabel(OWN_BASE)) === inputs) return OWN_BASE;
  if ((await runCommand('docker', ['image', 'inspect', PUBLIC_BASE])).code === 0) return PUBLIC_BASE;
  const pulled = await runCommand('docker', ['pull', '--quiet', PUBLIC_BASE], { timeoutMs: PULL_TIMEOUT_MS, signal });
  signal?.throwIfAborted();
  if (pulled.code === 0) return PUBLIC_BASE;
  log(`${PUBLIC_BASE} cannot be pulled here; building a Debian base from packages instead (about 90 s, once)`);
  if (!(await hasProgram('mmdebstrap'))) await installPackages(['mmdebstrap', 'debian-archive-keyring'], log, signal);
  await buildBase(inputs, signal);
  return OWN_BASE;
}

/** The value of the label `longshore.inputs`; undefined when the image or the label does not exist. */
export async function imageLabel(image: string): Promise<string | undefined> {
  const found = await runCommand('docker', ['image', 'inspect', '--format', `{{ index .Config.Labels "${INPUTS_LABEL}" }}`, image]);
  return found.code === 0 && found.stdout.trim() !== '' ? found.stdout.trim() : undefined;
}

async function buildBase(inputs: string, signal: AbortSignal | undefined): Promise<void> {
  const builder = spawn(
    'mmdebstrap',
    [
      '--variant=minbase',
      '--quiet',
      '--dpkgopt=force-unsafe-io',
      ...['doc/*', 'man/*', 'info/*', 'lintian/*'].map((path) => `--dpkgopt=path-exclude=/usr/share/${path}`),
      '--dpkgopt=path-include=/usr/share/doc/*/copyright',
      `--include=${inputs}`,
      SUITE,
      '-',
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const importer = spawn('docker', ['import', '--change', `LABEL ${INPUTS_LABEL}=${inputs}`, '-', OWN_BASE], { stdio: ['pipe', 'ignore', 'pipe'] });
  const interrupt = () => [builder, importer].forEach((child) => child.kill());
  signal?.addEventListener('abort', interrupt, { once: true });
  let said = '';
  for (const stream of [builder.stderr, importer.stderr]) stream.setEncoding('utf8').on('data', (chunk: string) => (said += chunk));
  const codes = Promise.all([exitOf(builder), exitOf(importer)]);
  await pipeline(builder.stdout, importer.stdin).catch(() => undefined);
  const [built, imported] = await codes;
  signal?.removeEventListener('abort', interrupt);
  if (built === 0 && imported === 0) return;
  // The engine may have made an image of an incomplete tar.
  await runCommand('docker', ['image', 'rm', OWN_BASE]);
  throw failure('SETUP_FAILED', {
    step: 'Building the base image',
    problem: said.trim().split('\n').slice(-6).join(' | '),
    fix: 'The Debian mirror has to be reachable and there have to be 2 GB of free disk',
  });
}

function exitOf(child: ReturnType<typeof spawn>): Promise<number> {
  return new Promise((resolve) => {
    child.once('error', () => resolve(127));
    child.once('close', (code) => resolve(code ?? 128));
  });
}

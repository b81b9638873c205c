import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { writeWhole } from '../platform/place-whole.ts';
import { failure } from '../contracts/errors.ts';
import { ensureOwnDirectory } from '../platform/own-path.ts';
import { installProgram } from './install-program.ts';
import { installedMinor, SWITCHING_MINOR } from './go.ts';
import { withLock } from '../platform/lock.ts';
import { mustRun } from '../platform/run-command.ts';
import { systemProblem } from '../platform/system-problem.ts';

/** A version of the module's branch for `go install`. Hibernation was tested with this version; distributions ship older ones that lose sandboxes. */
const MODULE = 'gvisor.dev/gvisor/runsc@v0.0.0-20260701204157-69c2d17aea96';
/**
 * `--network=none`: sandboxes have no network, and a restore requires that the runtime has none. `--restore-spec-validation=warning`: engines of different
 * versions describe the same container with differences that do not matter, and a sandbox from another engine must still be restored.
 */
export const RUNTIME_ARGUMENTS = ['--network=none', '--restore-spec-validation=warning'];
export const ENGINE_SETTINGS = '/etc/docker/daemon.json';

interface Settings {
  experimental?: boolean;
  runtimes?: Record<string, { path?: string; runtimeArgs?: string[] }>;
  [key: string]: unknown;
}

export interface RunscOptions {
  home: string;
  log: (line: string) => void;
  /** Puts the program into a directory. Default: builds it from its Go module. */
  build?: (directory: string, signal?: AbortSignal) => Promise<void>;
  signal?: AbortSignal;
}

/**
 * Builds gVisor's `runsc` from its Go module into `bin` of the home directory, unless this version is there and unchanged since it was built. Engines
 * run it as root, so no other user may write to the directory. Returns its path and whether it was built.
 */
export async function ensureRunsc({ home, log, build = buildRunsc, signal }: RunscOptions): Promise<{ program: string; built: boolean }> {
  const program = join(home, 'bin', 'runsc');
  await ensureOwnDirectory(home);
  const ensure = async () => {
    await ensureOwnDirectory(dirname(program));
    const oddity = await oddityOf(program);
    if (oddity === undefined) return { program, built: false };
    if (oddity !== 'absent') log(`${program} ${oddity}, and is built again`);
    log('building gVisor from its Go module (1 to 2 minutes, once)');
    const directory = await mkdtemp(join(tmpdir(), 'longshore-go-'));
    try {
      await build(directory, signal);
      const built = join(directory, 'runsc');
      // The digest is written first: after a crash in between, it does not match, and the program is built again.
      await writeFile(digestFileOf(program), `${await digestOf(built)} ${MODULE}\n`);
      await installProgram(built, program);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
    return { program, built: true };
  };
  return withLock(join(home, 'runsc.lock'), ensure, signal);
}

/** Why the existing program is not the one that was built; undefined when it is. */
async function oddityOf(program: string): Promise<string | undefined> {
  if (!existsSync(program)) return 'absent';
  const noted = (await readFile(digestFileOf(program), 'utf8').catch(() => '')).trim();
  if (noted === '') return 'has no digest beside it';
  const [digest, module] = noted.split(' ');
  if (module !== MODULE) return 'is of another version';
  return digest === (await digestOf(program)) ? undefined : 'is not what was built: its digest does not match';
}

function digestFileOf(program: string): string {
  return `${program}.sha256`;
}

async function digestOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}

async function buildRunsc(directory: string, signal?: AbortSignal): Promise<void> {
  if ((await installedMinor()) < SWITCHING_MINOR) {
    const fix = 'Install Go 1.21 or newer (the Debian package golang-go of a current release, or from go.dev), and run this again';
    throw failure('SETUP_FAILED', { step: 'Building gVisor', problem: 'Go is not installed, or too old to fetch the toolchain that gVisor asks for', fix });
  }
  await mustRun('Building gVisor', 'go', ['install', MODULE], {
    env: {
      CGO_ENABLED: '0',
      GOTOOLCHAIN: 'auto',
      GOBIN: directory,
      GOMODCACHE: join(directory, 'modules'),
      GOCACHE: join(directory, 'objects'),
      GOFLAGS: '-modcacherw',
    },
    fix: 'The Go module proxy has to be reachable',
    signal,
  });
}

interface Runtime {
  /** The program that the engine starts. */
  script: string;
  /** gVisor's program, which the script starts. Engines that were set up by an older Longshore have it registered directly. */
  program: string;
}

/** Registers `runsc` in the engine's settings and enables checkpoints; the rest of the file stays unchanged. Returns whether the file was changed. */
export async function registerRunsc(runtime: Runtime, file: string = ENGINE_SETTINGS): Promise<boolean> {
  const settings = await readSettings(file);
  const wanted = withRunsc(settings, runtime, file);
  if (JSON.stringify(wanted) === JSON.stringify(settings)) return false;
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeWhole(file, `${JSON.stringify(wanted, undefined, 2)}\n`, { mode: 0o644 });
  } catch (error) {
    const problem = `it cannot be written (${systemProblem(error)})`;
    throw failure('SETUP_FAILED', { step: `Registering gVisor in ${file}`, problem, fix: 'Run this as root' }, error);
  }
  return true;
}

function withRunsc(settings: Settings, { script, program }: Runtime, file: string): Settings {
  const before = settings.runtimes?.['runsc'];
  if (before !== undefined && before.path !== script && before.path !== program) {
    const problem = `it has a runtime "runsc" already, ${before.path ?? 'without a path'}, which Longshore does not change`;
    throw failure('SETUP_FAILED', { step: `Registering gVisor in ${file}`, problem, fix: 'Remove or rename that one, and run this again' });
  }
  const runtimeArgs = [...new Set([...(before?.runtimeArgs ?? []), ...RUNTIME_ARGUMENTS])];
  return { ...settings, experimental: true, runtimes: { ...settings.runtimes, runsc: { ...before, path: script, runtimeArgs } } };
}

async function readSettings(file: string): Promise<Settings> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '{}';
    throw error;
  });
  try {
    return JSON.parse(text) as Settings;
  } catch (error) {
    const problem = `it is not JSON (${error instanceof Error ? error.message : String(error)})`;
    throw failure('SETUP_FAILED', { step: `Registering gVisor in ${file}`, problem, fix: 'Correct it, and run this again' });
  }
}

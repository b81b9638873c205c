import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { abortAfter } from '../common/abort-after.ts';
import { inTime } from '../common/in-time.ts';
import { failure } from '../contracts/errors.ts';
import { ensureOwnDirectory } from '../platform/own-path.ts';
import { ensureGo } from './go.ts';
import { installProgram } from './install-program.ts';
import { withLock } from '../platform/lock.ts';
import { freePort } from './ports.ts';
import { mustRun, runCommand } from '../platform/run-command.ts';

/** The newest version whose module `go install` accepts. */
const MODULE = 'github.com/temporalio/cli/cmd/temporal@v1.5.1';
const DOWNLOAD_SITE = 'https://temporal.download/';
const REACH_TIMEOUT_MS = 5_000;
const DOWNLOAD_TIMEOUT_MS = 300_000;

export interface TemporalCliOptions {
  /** The directory of caches; the program goes into its `bin`. */
  home: string;
  log: (line: string) => void;
  signal?: AbortSignal | undefined;
}

/** The `temporal` program on PATH or in the cache, if there is one that runs. */
export async function findTemporalCli(home: string, signal?: AbortSignal): Promise<string | undefined> {
  for (const program of ['temporal', cached(home)]) {
    // A program that another user could have put there must not run.
    if (program === cached(home) && existsSync(program)) await ensureOwnDirectory(dirname(program));
    if (await runs(program, signal)) return program;
  }
  return undefined;
}

async function runs(program: string, signal: AbortSignal | undefined): Promise<boolean> {
  return (await runCommand(program, ['--version'], { signal })).code === 0;
}

/** Finds the `temporal` program; else downloads it with the SDK; else builds it from its Go module. Returns its name or path. */
export async function ensureTemporalCli({ home, log, signal }: TemporalCliOptions): Promise<string> {
  const found = await findTemporalCli(home, signal);
  signal?.throwIfAborted();
  if (found !== undefined) return found;
  const get = async () => {
    // Another process may have brought it meanwhile. One that is there and does not run, as of another kind of machine, is replaced.
    if (await runs(cached(home), signal)) return cached(home);
    signal?.throwIfAborted();
    await ensureOwnDirectory(join(home, 'bin'));
    if (!(await download(home, log, signal))) await buildFromModule(home, log, signal);
    return cached(home);
  };
  return await withLock(join(home, 'temporal.lock'), get, signal);
}

function cached(home: string): string {
  return join(home, 'bin', 'temporal');
}

async function download(home: string, log: (line: string) => void, signal: AbortSignal | undefined): Promise<boolean> {
  const reachable = await fetch(DOWNLOAD_SITE, { signal: abortAfter(REACH_TIMEOUT_MS, ...(signal ? [signal] : [])) }).then(
    () => true,
    () => false,
  );
  signal?.throwIfAborted();
  if (!reachable) return false;
  log('downloading the Temporal CLI');
  const directory = await mkdtemp(join(tmpdir(), 'longshore-temporal-'));
  try {
    await inTime(downloadBySdk(directory), DOWNLOAD_TIMEOUT_MS, tooSlow, signal);
    const [name] = await readdir(directory);
    if (name === undefined) return false;
    await installProgram(join(directory, name), cached(home));
    return true;
  } catch (error) {
    signal?.throwIfAborted();
    log(`the download did not work (${error instanceof Error ? error.message : String(error)})`);
    return false;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** The SDK downloads the program only to start a server, so this starts one and stops it. */
async function downloadBySdk(directory: string): Promise<void> {
  const { TestWorkflowEnvironment } = await import('@temporalio/testing');
  const environment = await TestWorkflowEnvironment.createLocal({
    server: { executable: { type: 'cached-download', downloadDir: directory }, port: await freePort(), ui: false },
  });
  await environment.teardown();
}

async function buildFromModule(home: string, log: (line: string) => void, signal: AbortSignal | undefined): Promise<void> {
  const go = await ensureGo(log, signal);
  const directory = await mkdtemp(join(tmpdir(), 'longshore-go-'));
  log('building the Temporal CLI from its Go module (about 3 minutes, once)');
  let modules = 0;
  try {
    await mustRun('Building the Temporal CLI', go.program, ['install', MODULE], {
      env: {
        ...go.env,
        GOBIN: directory,
        // Both directories are large and not needed afterwards; only the program is kept.
        GOMODCACHE: join(directory, 'modules'),
        GOCACHE: join(directory, 'objects'),
        GOFLAGS: '-modcacherw',
      },
      onLine: (line) => {
        if (line.startsWith('go: downloading') && ++modules % 40 === 0) log(`  ${modules} modules downloaded`);
      },
      fix: 'The Go module proxy has to be reachable. Or put a temporal CLI on PATH, or set TEMPORAL_ADDRESS',
      signal,
    });
    await installProgram(join(directory, 'temporal'), cached(home));
  } finally {
    await rm(directory, { recursive: true, force: true });
    await go.dispose();
  }
}

function tooSlow(): Error {
  return failure('SETUP_FAILED', { step: 'Downloading the Temporal CLI', problem: `not done after ${DOWNLOAD_TIMEOUT_MS / 1000} s`, fix: 'Try again' });
}

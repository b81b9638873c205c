import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { arch, platform, tmpdir } from 'node:os';
import { join } from 'node:path';
import { abortAfter } from '../common/abort-after.ts';
import { failure } from '../contracts/errors.ts';
import { mustRun, runCommand } from '../platform/run-command.ts';
import { hasProgram, installPackages } from './system-packages.ts';

const MINIMUM_MINOR = 25;
/** From this version on, the go command itself fetches the toolchain that a module requires. */
export const SWITCHING_MINOR = 21;
/** The toolchain as the Go module proxy serves it. It is available also on machines that can reach only package registries. */
const TOOLCHAIN = 'golang.org/toolchain@v0.0.1-go1.25.5.linux-amd64';
const TOOLCHAIN_SHA256 = '8cea6783dab64d68b38f5b81ecd38d45155a3c06638991acc6af19e0fca80edb';
const FETCH_TIMEOUT_MS = 300_000;

export interface Go {
  program: string;
  env: Record<string, string>;
  /** Removes a toolchain that was fetched for this use. */
  dispose: () => Promise<void>;
}

/** Finds a Go that can build current modules: the installed one, or a toolchain that is fetched for this use only. */
export async function ensureGo(log: (line: string) => void, signal?: AbortSignal): Promise<Go> {
  const minor = await installedMinor();
  if (minor >= SWITCHING_MINOR) {
    return { program: 'go', env: minor >= MINIMUM_MINOR ? {} : { GOTOOLCHAIN: 'auto' }, dispose: async () => undefined };
  }
  if (platform() === 'linux' && arch() === 'x64') return await fetchToolchain(log, signal);
  throw failure('SETUP_FAILED', {
    step: 'Building the Temporal CLI',
    problem: 'Go 1.25 or newer is not installed',
    fix: 'Install Go, or put a temporal CLI on PATH, or set TEMPORAL_ADDRESS',
  });
}

/** 26 for Go 1.26; 0 without Go. */
export async function installedMinor(): Promise<number> {
  const { stdout } = await runCommand('go', ['env', 'GOVERSION'], { env: { GOTOOLCHAIN: 'local' } });
  return Number(/^go1\.(\d+)/.exec(stdout)?.[1] ?? 0);
}

async function fetchToolchain(log: (line: string) => void, signal: AbortSignal | undefined): Promise<Go> {
  if (!(await hasProgram('unzip'))) await installPackages(['unzip', 'ca-certificates'], log, signal);
  const directory = await mkdtemp(join(tmpdir(), 'longshore-toolchain-'));
  const dispose = () => rm(directory, { recursive: true, force: true });
  try {
    log('Go is not installed; fetching a toolchain for this build (64 MB)');
    const archive = join(directory, 'toolchain.zip');
    await writeFile(archive, await fetchArchive(signal));
    await mustRun('Unpacking the Go toolchain', 'unzip', ['-q', archive, '-d', directory], {
      fix: 'It needs 300 MB in the temporary directory',
      signal,
    });
    const root = join(directory, TOOLCHAIN);
    // A module archive has no permission bits.
    await mustRun('Unpacking the Go toolchain', 'chmod', ['-R', 'a+x', join(root, 'bin'), join(root, 'pkg', 'tool')], { fix: 'Try again' });
    return { program: join(root, 'bin', 'go'), env: { GOROOT: root, GOTOOLCHAIN: 'local' }, dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

async function fetchArchive(signal: AbortSignal | undefined): Promise<Buffer> {
  const [module, version] = TOOLCHAIN.split('@');
  const url = `${moduleProxy()}/${module}/@v/${version}.zip`;
  try {
    const answer = await fetch(url, { signal: abortAfter(FETCH_TIMEOUT_MS, ...(signal ? [signal] : [])) });
    if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
    const archive = Buffer.from(await answer.arrayBuffer());
    const sha256 = createHash('sha256').update(archive).digest('hex');
    if (sha256 !== TOOLCHAIN_SHA256) throw new Error(`its sha256 is ${sha256}, not ${TOOLCHAIN_SHA256}`);
    return archive;
  } catch (error) {
    throw failure('SETUP_FAILED', {
      step: 'Fetching the Go toolchain',
      problem: `${url}: ${error instanceof Error ? error.message : String(error)}`,
      fix: 'Install Go 1.25 or newer, or put a temporal CLI on PATH, or set TEMPORAL_ADDRESS',
    });
  }
}

function moduleProxy(): string {
  const first = (process.env['GOPROXY'] ?? '').split(/[,|]/)[0] ?? '';
  return first.startsWith('http') ? first.replace(/\/$/, '') : 'https://proxy.golang.org';
}

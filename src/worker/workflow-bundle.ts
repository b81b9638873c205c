import type { DataConverter } from '@temporalio/common';
import { bundleWorkflowCode } from '@temporalio/worker';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeWhole } from '../platform/place-whole.ts';
import type { Logger } from '../platform/log.ts';

/** Extension of Longshore's own modules: sources in development, JavaScript in the package. */
const EXTENSION = import.meta.url.endsWith('.ts') ? '.ts' : '.js';
const SRC = fileURLToPath(new URL('..', import.meta.url));
/** Folders of all modules that are in the bundle. */
const BUNDLED = ['workflows', 'contracts', 'common'];

interface BundleOptions {
  home: string;
  log: Logger;
  /** How the workflows convert errors; by default as Temporal does. */
  dataConverter?: DataConverter;
}

/**
 * The workflow code as Temporal runs it. Bundling takes more than a second at a worker's start, so the bundle is kept under a name that is a hash of its
 * sources; when the directory cannot be written, each start takes that second again.
 */
export async function loadWorkflowBundle({ home, log, dataConverter = {} }: BundleOptions): Promise<{ code: string }> {
  const { failureConverterPath } = dataConverter;
  const directory = join(home, 'workflow-bundles');
  const path = join(directory, `${await fingerprint(failureConverterPath)}.js`);
  const kept = await readFile(path, 'utf8').catch(() => undefined);
  if (kept !== undefined) return { code: kept };
  const pathOf = (module: string) => fileURLToPath(new URL(`../workflows/${module}${EXTENSION}`, import.meta.url));
  const { code } = await bundleWorkflowCode({
    workflowsPath: pathOf('workflows'),
    workflowInterceptorModules: [pathOf('interceptors/restart-after-query')],
    logger: quietLogger(log),
    ...(failureConverterPath !== undefined && { failureConverterPath }),
  });
  await keep(directory, path, code).catch((error: unknown) => log.warn({ err: error, path }, 'the workflow bundle was not kept'));
  return { code };
}

async function fingerprint(failureConverterPath: string | undefined): Promise<string> {
  const { version } = createRequire(import.meta.url)('@temporalio/worker/package.json') as { version: string };
  const hash = createHash('sha256').update(`${version} ${process.versions.node}`);
  if (failureConverterPath !== undefined) hash.update(await readFile(failureConverterPath));
  for (const file of await bundledModules()) hash.update(`${relative(SRC, file)}\0`).update(await readFile(file));
  return hash.digest('hex').slice(0, 32);
}

/** All modules that may be in the bundle, also those in folders of folders. */
export async function bundledModules(): Promise<string[]> {
  const found = await Promise.all(
    BUNDLED.map(async (folder) => {
      const names = await readdir(join(SRC, folder), { recursive: true });
      return names.filter((name) => name.endsWith(EXTENSION)).map((name) => join(SRC, folder, name));
    }),
  );
  return found.flat().toSorted();
}

/** Writes the file atomically, so that another worker never reads a part of it. */
async function keep(directory: string, path: string, code: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  await writeWhole(path, code);
}

function quietLogger(log: Logger): NonNullable<Parameters<typeof bundleWorkflowCode>[0]['logger']> {
  const debug = (message: string, meta?: object) => log.debug({ ...meta }, message);
  const warn = (message: string, meta?: object) => log.warn({ ...meta }, message);
  return {
    log: (level, message, meta) => (level === 'ERROR' || level === 'WARN' ? warn : debug)(message, meta),
    trace: debug,
    debug,
    info: debug,
    warn,
    error: warn,
  };
}

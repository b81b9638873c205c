import { access, cp, rename } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withLock } from '../../src/platform/lock.ts';
import { mustRun } from '../../src/platform/run-command.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Sources that the compiler reads, and what is neither. */
const NOT_COPIED = new Set(['.ts', '.md', '.pyc']);

/** Where the program of a run's workers is built: beside `src`, since some modules look for files from there. */
export function builtDirectory(run: string): string {
  return join(ROOT, `.build-${run}`);
}

/**
 * The compiled program of a worker, built by the first test of a run that asks for it. It starts in two thirds of the time that the sources take, and it is
 * the program that users run.
 */
export async function builtWorker(): Promise<string> {
  const directory = builtDirectory(process.env['LONGSHORE_TEST_RUN'] ?? '');
  const program = join(directory, 'worker-main.js');
  if (await exists(program)) return program;
  await withLock(join(process.env['LONGSHORE_TEST_DIRECTORY'] ?? '', 'locks', 'build'), async () => {
    if (!(await exists(program))) await build(directory);
  });
  return program;
}

async function build(directory: string): Promise<void> {
  const unfinished = `${directory}-unfinished`;
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  const words = [compiler, '-p', join(ROOT, 'tsconfig.build.json'), '--outDir', unfinished, '--declaration', 'false', '--noCheck'];
  await mustRun('Building the worker for the tests', process.execPath, words, { fix: 'Fix the sources, then run the tests again' });
  await cp(join(ROOT, 'src'), unfinished, { recursive: true, filter: (source) => !NOT_COPIED.has(extname(source)) && !source.endsWith('__pycache__') });
  await rename(unfinished, directory);
}

async function exists(file: string): Promise<boolean> {
  return await access(file).then(
    () => true,
    () => false,
  );
}

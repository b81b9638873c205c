import { build as bundle, transform, type Plugin } from 'esbuild';
import { access, cp, readFile, rename } from 'node:fs/promises';
import { dirname, extname, join, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { withLock } from '../../src/platform/lock.ts';
import { mustRun } from '../../src/platform/run-command.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Sources that the compiler reads, and what is neither. */
const NOT_COPIED = new Set(['.ts', '.md', '.pyc']);
/** Packages that find files of their own, have native parts, or are loaded on demand. */
const NOT_BUNDLED = ['@fastify/*', '@opentelemetry/*', '@temporalio/*', 'dockerode', 'esbuild', 'fastify*', 'longshore/*', 'node-pg-migrate', 'pino*', 'ses'];

/** Where the program of a run's workers is built: beside `src`, since some modules look for files from there. */
export function builtDirectory(run: string): string {
  return join(ROOT, `.build-${run}`);
}

/**
 * The compiled program of a worker, built by the first test of a run that asks for it. It is in one file with most of the packages that it imports: a start
 * takes a third of the processor time that the sources take, and tests start many workers.
 */
export async function builtWorker(): Promise<string> {
  return join(await built(), 'worker-in-one-file.js');
}

/** The compiled program of the command line, with its modules in files of their own, as users run it. */
export async function builtCommandLine(): Promise<string> {
  return join(await built(), 'cli/main.js');
}

async function built(): Promise<string> {
  const directory = builtDirectory(process.env['LONGSHORE_TEST_RUN'] ?? '');
  if (await exists(directory)) return directory;
  await withLock(join(process.env['LONGSHORE_TEST_DIRECTORY'] ?? '', 'locks', 'build'), async () => {
    if (!(await exists(directory))) await build(directory);
  });
  return directory;
}

async function build(directory: string): Promise<void> {
  const unfinished = `${directory}-unfinished`;
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  const words = [compiler, '-p', join(ROOT, 'tsconfig.build.json'), '--outDir', unfinished, '--declaration', 'false', '--noCheck'];
  await mustRun('Building the worker for the tests', process.execPath, words, { fix: 'Fix the sources, then run the tests again' });
  await cp(join(ROOT, 'src'), unfinished, { recursive: true, filter: (source) => !NOT_COPIED.has(extname(source)) && !source.endsWith('__pycache__') });
  await bundle({
    entryPoints: [join(unfinished, 'worker-main.js')],
    outfile: join(unfinished, 'worker-in-one-file.js'),
    bundle: true,
    platform: 'node',
    format: 'esm',
    external: NOT_BUNDLED,
    // Packages in CommonJS require modules of Node.js.
    banner: { js: `import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);` },
    plugins: [atTheirPlaces(unfinished, directory)],
    logLevel: 'error',
  });
  await rename(unfinished, directory);
}

/** Modules look for files from where they are in `directory`, and not from where the bundle is. */
function atTheirPlaces(unfinished: string, directory: string): Plugin {
  return {
    name: 'at their places',
    setup(bundler) {
      bundler.onLoad({ filter: /\.js$/ }, async ({ path }) => {
        if (!path.startsWith(unfinished + sep)) return undefined;
        const place = directory + path.slice(unfinished.length);
        const define = { 'import.meta.url': JSON.stringify(pathToFileURL(place).href), 'import.meta.dirname': JSON.stringify(dirname(place)) };
        return { contents: (await transform(await readFile(path, 'utf8'), { define })).code };
      });
    },
  };
}

async function exists(file: string): Promise<boolean> {
  return await access(file).then(
    () => true,
    () => false,
  );
}

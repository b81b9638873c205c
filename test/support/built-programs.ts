import { build as bundle, transform, type Plugin } from 'esbuild';
import { access, cp, readFile, rename } from 'node:fs/promises';
import { basename, dirname, extname, join, relative, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { withLock } from '../../src/platform/lock.ts';
import { mustRun } from '../../src/platform/run-command.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SOURCES = join(ROOT, 'src');
/** Sources that the compiler reads, and what is neither. */
const NOT_COPIED = new Set(['.ts', '.md', '.pyc']);
/** Packages that find files of their own, or have native parts. */
const NOT_BUNDLED = ['@fastify/*', '@opentelemetry/*', '@temporalio/*', 'dockerode', 'esbuild', 'fastify*', 'longshore/*', 'node-pg-migrate', 'pino*', 'ses'];

/** Where the programs of a run are built: beside `src`, since some modules look for files from there. */
export function builtDirectory(run: string): string {
  return join(ROOT, `.build-${run}`);
}

/** The program of the command line, with its modules in files of their own, as users run it. */
export async function builtCommandLine(): Promise<string> {
  return compiled(await built(), 'cli/main.ts');
}

/** The address of a module of `src`, compiled by the first test of a run that asks for one, for a short program that imports it: `builtModule('platform/lock.ts')`. */
export async function builtModule(path: string): Promise<string> {
  return pathToFileURL(compiled(await built(), path)).href;
}

/**
 * A TypeScript program as a bundle that Node.js runs without a loader, made by the first test of a run that asks for it. The program's modules and most of the
 * packages that they import are in its file, and beside it is what they import on demand: a start takes about a third of the processor time that it takes from
 * the sources, and tests start many programs.
 */
export async function builtProgram(source: URL): Promise<string> {
  const path = fileURLToPath(source);
  const directory = await built();
  const own = join(directory, 'bundles', relative(ROOT, path));
  await once(own, (unfinished) => bundleProgram(path, directory, unfinished));
  return compiled(own, basename(path));
}

async function built(): Promise<string> {
  const directory = builtDirectory(process.env['LONGSHORE_TEST_RUN'] ?? '');
  await once(directory, compile);
  return directory;
}

/** Makes what is not there yet; tests of other processes wait for it. */
async function once(path: string, make: (unfinished: string) => Promise<void>): Promise<void> {
  if (await exists(path)) return;
  await withLock(join(process.env['LONGSHORE_TEST_DIRECTORY'] ?? '', 'locks', 'build'), async () => {
    if (await exists(path)) return;
    await make(`${path}-unfinished`);
    await rename(`${path}-unfinished`, path);
  });
}

async function compile(directory: string): Promise<void> {
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  const words = [compiler, '-p', join(ROOT, 'tsconfig.build.json'), '--outDir', directory, '--declaration', 'false', '--noCheck'];
  await mustRun('Building the programs for the tests', process.execPath, words, { fix: 'Fix the sources, then run the tests again' });
  await cp(SOURCES, directory, { recursive: true, filter: (source) => !NOT_COPIED.has(extname(source)) && !source.endsWith('__pycache__') });
}

async function bundleProgram(source: string, directory: string, outdir: string): Promise<void> {
  await bundle({
    entryPoints: [source],
    outdir,
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    external: NOT_BUNDLED,
    // Packages in CommonJS require modules of Node.js.
    banner: { js: `import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);` },
    plugins: [packagesOnDemand, atTheirPlaces(directory)],
    logLevel: 'error',
  });
}

/** Packages that are imported on demand stay what they are: of one in CommonJS, a bundle would have the default export alone. */
const packagesOnDemand: Plugin = {
  name: 'packages on demand',
  setup(bundler) {
    bundler.onResolve({ filter: /^[^./]/ }, ({ kind, path }) => (kind === 'dynamic-import' ? { path, external: true } : undefined));
  },
};

/** Modules look for files from where they are, those of `src` from where they are compiled in `directory`, and none from where the bundle is. */
function atTheirPlaces(directory: string): Plugin {
  return {
    name: 'at their places',
    setup(bundler) {
      bundler.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
        const place = path.startsWith(SOURCES + sep) ? compiled(directory, relative(SOURCES, path)) : path;
        const define = { 'import.meta.url': JSON.stringify(pathToFileURL(place).href), 'import.meta.dirname': JSON.stringify(dirname(place)) };
        return { contents: (await transform(await readFile(path, 'utf8'), { define, loader: 'ts', target: 'node20' })).code };
      });
    },
  };
}

function compiled(directory: string, path: string): string {
  return join(directory, path.replace(/\.ts$/, '.js'));
}

async function exists(file: string): Promise<boolean> {
  return await access(file).then(
    () => true,
    () => false,
  );
}

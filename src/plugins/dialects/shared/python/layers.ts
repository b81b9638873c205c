import { createHash, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, readdir, realpath, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { runCommand } from '../../../../platform/run-command.ts';
import { readProgram } from '../../../../platform/read-program.ts';
import { pluginInvalid } from '../../../api/plugin-invalid.ts';
import { isBelow } from '../../../files/territory.ts';
import { readRealFile } from '../../../files/read-real-file.ts';

/** A directory of this machine whose name says what is in it; it never changes. Sandboxes get a copy of the same name. */
export interface Layer {
  /** `code-…`, `packages-…` or `host-…`. */
  name: string;
  path: string;
}

/** The Python that is to run packages. */
export interface PythonFacts {
  version: string;
  machine: string;
  libc: string;
}

const FETCH = readProgram(import.meta.url, 'programs/fetch_packages.py');
/** The modules have packages of their own: a plugin may have modules of the same names. */
const HOST_PROGRAMS = programsAt(import.meta.url, 'longshore_host');
const INSTALL_TIMEOUT_MS = 600_000;
const MOST_FILES = 5_000;
const MOST_BYTES = 200 * 1024 * 1024;
const LEFT_OUT = /(^|\/)(\.git|__pycache__|\.venv|node_modules)(\/|$)/;

/**
 * A copy of a plugin's files as they are now, so that every sandbox runs what was loaded.
 * @throws PLUGIN_INVALID for a link, and for more than a plugin may have
 */
export async function codeLayer(plugin: string, given: string, directory: string): Promise<Layer> {
  const root = await realpath(given);
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const files = new Map<string, Buffer>();
  let bytes = 0;
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name);
    const name = relative(root, path).split(sep).join('/');
    if (entry.isDirectory() || LEFT_OUT.test(name)) continue;
    if (!entry.isFile()) throw pluginInvalid(plugin, `its ${name} is no ordinary file`, 'Put the file itself there');
    const found = await readRealFile(path, (real) => isBelow(real, root), MOST_BYTES - bytes);
    if (!('content' in found) || files.size === MOST_FILES) {
      throw pluginInvalid(
        plugin,
        `it has more than ${MOST_FILES} files or ${MOST_BYTES / 2 ** 20} MB, or ${name} cannot be read`,
        'Take out what it does not need',
      );
    }
    bytes += found.content.length;
    files.set(name, found.content);
  }
  return place('code', files, directory);
}

/** What is in the folder `programs` beside a module: all modules of a package of Python, and other files by their names. */
export function programsAt(module: string, pythonPackage: string, others: string[] = []): [name: string, content: Buffer][] {
  const modules = readdirSync(new URL(`programs/${pythonPackage}`, module)).filter((name) => name.endsWith('.py'));
  const names = [...others, ...modules.map((name) => `${pythonPackage}/${name}`)];
  return names.toSorted().map((name) => [name, readFileSync(new URL(`programs/${name}`, module))]);
}

/** The programs that run a plugin: those of all plugins in Python, and those of its dialect. */
export function hostLayer(ofDialect: [name: string, content: Buffer][], directory: string): Promise<Layer> {
  return place('host', new Map([...HOST_PROGRAMS, ...ofDialect]), directory);
}

/**
 * The packages of a plugin, installed by the pip of this machine once for all plugins with the same requirements.
 * @throws PLUGIN_INVALID with the words of pip
 */
export async function packageLayer(plugin: string, requirements: string[], python: PythonFacts, directory: string): Promise<Layer> {
  const name = `packages-${digestOf(JSON.stringify([requirements, python]))}`;
  return once(join(directory, name), async (beside) => {
    const { version, machine, libc } = python;
    const fetch = (more: Record<string, string>) =>
      runCommand('python3', ['-c', FETCH, beside, version, machine, libc, ...requirements], { timeoutMs: INSTALL_TIMEOUT_MS, env: { ...QUIET, ...more } });
    const first = await fetch({});
    const newer = isFaultOfPip(first) ? await newestPip(directory) : undefined;
    const { code, stdout, stderr } = newer === undefined ? first : await fetch({ PYTHONPATH: newer });
    if (code === 0) return;
    const why = code === 127 ? 'python3 is not installed' : code === 124 ? 'pip took longer than 10 minutes' : wordsOf(`${stdout}\n${stderr}`);
    throw pluginInvalid(plugin, `its packages (${requirements.join(', ')}) cannot be installed on the worker: ${why}`, HOW_TO_INSTALL);
  });
}

const QUIET = { PIP_NO_INPUT: '1', PIP_DISABLE_PIP_VERSION_CHECK: '1' };

/** An older pip fails with an error of its own at some requirements. */
function isFaultOfPip({ code, stdout, stderr }: Awaited<ReturnType<typeof runCommand>>): boolean {
  return code === 2 && /^ERROR: Exception:$/m.test(`${stdout}\n${stderr}`);
}

/** The wheel of the newest pip, which runs as it is; undefined where it cannot be fetched now. */
async function newestPip(directory: string): Promise<string | undefined> {
  const path = join(directory, 'pip');
  // Versions before left an empty directory when it could not be fetched. One that is not empty stays.
  await rmdir(path).catch(() => undefined);
  const layer = await once(path, async (beside) => {
    const { code } = await runCommand('python3', ['-m', 'pip', 'download', '--quiet', '--no-deps', '--only-binary', ':all:', '--dest', beside, 'pip'], {
      timeoutMs: INSTALL_TIMEOUT_MS,
      env: QUIET,
    });
    if (code !== 0) throw new Error(`pip ended with code ${code}`);
  }).catch(() => undefined);
  return layer && wheelIn(layer.path);
}

async function wheelIn(path: string): Promise<string | undefined> {
  const [wheel] = await readdir(path).catch(() => []);
  return wheel && join(path, wheel);
}

const HOW_TO_INSTALL =
  'The worker needs python3 with pip, and a package index or a directory of wheels that pip is configured for (PIP_INDEX_URL, or PIP_NO_INDEX=1 and PIP_FIND_LINKS); each package has to exist as a wheel';

/** The errors of pip, without credentials that the address of an index may contain. */
function wordsOf(output: string): string {
  const safe = output
    .replaceAll(/\/\/[^/@\s]*@/g, '//')
    .trimEnd()
    .split('\n');
  const words = safe.filter((line) => line.startsWith('ERROR: ')).map((line) => line.replace('ERROR: ', '').trim());
  // What is wrong with pip itself is in the last line.
  const told = words.every((word) => word === 'Exception:') ? [safe.at(-1) ?? ''] : words;
  return told.slice(0, 3).join('; ').slice(0, 500) || 'pip failed without a word';
}

async function place(kind: string, files: ReadonlyMap<string, Buffer>, directory: string): Promise<Layer> {
  const hash = createHash('sha256');
  // Lengths separate names and contents, so that two different trees never give the same input.
  for (const [name, content] of [...files].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    hash.update(`${Buffer.byteLength(name)} ${name} ${content.length} `).update(content);
  }
  return once(join(directory, `${kind}-${hash.digest('hex').slice(0, 16)}`), async (beside) => {
    for (const [name, content] of files) {
      await mkdir(dirname(join(beside, name)), { recursive: true });
      await writeFile(join(beside, name), content);
    }
  });
}

/** Makes a directory unless it exists. Several processes may do this at the same time: the first rename counts. */
async function once(path: string, fill: (beside: string) => Promise<void>): Promise<Layer> {
  const layer = { name: path.split(sep).at(-1) ?? '', path };
  if (await exists(path)) return layer;
  const beside = join(dirname(path), `.${randomUUID()}.part`);
  try {
    await mkdir(beside);
    await fill(beside);
    await rename(beside, path).catch(async (error: unknown) => {
      if (!(await exists(path))) throw error;
    });
    return layer;
  } finally {
    await rm(beside, { recursive: true, force: true });
  }
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

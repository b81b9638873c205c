import { cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { mustRun, runCommand, type CommandOutcome } from '../../src/platform/run-command.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const NOT_IN_A_CHECKOUT = new Set(['node_modules', 'dist', '.git', '.longshore']);
const QUIET = ['--no-fund', '--no-audit', '--no-update-notifier', '--loglevel=error'];
const FIX = 'See what npm says';

/** An empty project beside a tarball that was packed from a checkout which nothing was built in. */
export interface PackedProject extends AsyncDisposable {
  directory: string;
  /** What is in the tarball, relative to the package. */
  files: string[];
  install(...flags: string[]): Promise<void>;
  write(name: string, text: string): Promise<void>;
  run(program: string, args: string[], environment?: NodeJS.ProcessEnv): Promise<CommandOutcome>;
}

export async function packProject(): Promise<PackedProject> {
  const parent = await mkdtemp(join(tmpdir(), 'longshore-packed-'));
  const checkout = join(parent, 'checkout');
  const directory = join(parent, 'project');
  await mkdir(checkout);
  await mkdir(directory);
  for (const name of await readdir(ROOT)) if (!NOT_IN_A_CHECKOUT.has(name)) await cp(join(ROOT, name), join(checkout, name), { recursive: true });
  await symlink(join(ROOT, 'node_modules'), join(checkout, 'node_modules'));
  const said = await mustRun('Packing', 'npm', ['pack', '--json', '--pack-destination', parent, ...QUIET], { cwd: checkout, fix: FIX });
  // The output of the build comes before the JSON.
  const [{ filename, files }] = JSON.parse(said.slice(said.indexOf('[\n'))) as [{ filename: string; files: { path: string }[] }];
  await writeFile(join(directory, 'package.json'), JSON.stringify({ name: 'empty', private: true, type: 'module' }));
  return {
    directory,
    files: files.map(({ path }) => path),
    async install(...flags) {
      await mustRun('Installing', 'npm', ['install', '--ignore-scripts', '--prefer-offline', ...QUIET, ...flags, join(parent, filename)], {
        cwd: directory,
        fix: FIX,
      });
    },
    async write(name, text) {
      await mkdir(dirname(join(directory, name)), { recursive: true });
      await writeFile(join(directory, name), text);
    },
    run: (program, args, environment = {}) =>
      runCommand(program, args, {
        cwd: directory,
        env: Object.fromEntries(Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== undefined)),
      }),
    [Symbol.asyncDispose]: () => rm(parent, { recursive: true, force: true }),
  };
}

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BoundedTree } from './bounded-tree.ts';
import type { PluginOrigin } from './read-origin.ts';
import { runFetcher, type Fetching } from './run-fetcher.ts';
import { unpackTar } from './unpack-tar.ts';

/** Nothing that a repository or a server says is run: there is no working tree and no submodule, and git uses no hooks, no other protocols and no redirects. */
const GUARDED = ['-c', 'core.hooksPath=/dev/null', '-c', 'gc.auto=0', '-c', 'maintenance.auto=false', '-c', 'http.followRedirects=false'];
/** Files are taken as they are stored: no filter of this person's settings changes them, and none is left out. These lines precede those of a repository. */
const AS_STORED = '* -text -filter -ident -working-tree-encoding -export-ignore -export-subst\n';
const ENVIRONMENT = { GIT_ALLOW_PROTOCOL: 'https:file', GIT_TERMINAL_PROMPT: '0' };

/** Puts the files of one commit into a tree. @returns the commit */
export async function fetchRepository(
  { url, ref }: Extract<PluginOrigin, { kind: 'repository' }>,
  tree: BoundedTree,
  fetching: Fetching,
): Promise<{ commit: string }> {
  const { work, signal } = fetching;
  const [repository, archive] = [join(work, 'repository'), join(work, 'files.tar')];
  const git = (...args: string[]) => runFetcher('git', [...GUARDED, `--git-dir=${repository}`, ...args], fetching, ENVIRONMENT);
  await git('init', '--quiet', '--bare', '--template=');
  await mkdir(join(repository, 'info'), { recursive: true });
  await writeFile(join(repository, 'info/attributes'), AS_STORED);
  await git('fetch', '--quiet', '--depth=1', '--no-tags', '--no-recurse-submodules', '--', url, ref ?? 'HEAD');
  const commit = (await git('rev-parse', '--verify', 'FETCH_HEAD^{commit}')).trim();
  await git('archive', '--format=tar', `--output=${archive}`, commit);
  await unpackTar(archive, tree, { gzip: false, strip: 0, signal });
  return { commit };
}

import { join } from 'node:path';
import type { BoundedTree } from './bounded-tree.ts';
import type { PluginOrigin } from './read-origin.ts';
import { runFetcher, type Fetching } from './run-fetcher.ts';
import { unpackTar } from './unpack-tar.ts';

/**
 * Nothing that a repository or a server says is run: there is no working tree, so no hooks of a checkout, no filters and no submodules; git may not use other
 * protocols, and follows no redirect.
 */
const GUARDED = ['-c', 'core.hooksPath=/dev/null', '-c', 'gc.auto=0', '-c', 'maintenance.auto=false', '-c', 'http.followRedirects=false'];
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
  await git('fetch', '--quiet', '--depth=1', '--no-tags', '--no-recurse-submodules', '--', url, ref ?? 'HEAD');
  const commit = (await git('rev-parse', '--verify', 'FETCH_HEAD^{commit}')).trim();
  await git('archive', '--format=tar', `--output=${archive}`, commit);
  await unpackTar(archive, tree, { gzip: false, strip: 0, signal });
  return { commit };
}

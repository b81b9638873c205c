import { failure } from '../../contracts/errors.ts';
import type { Engine } from './engine.ts';

/**
 * What keeps the files of sandboxes within `diskMb` on an engine. `volume`: the storage limits their size. `watch`: the supervisor measures the files, and
 * seccomp refuses fallocate, so files grow only by writes. `none`: fallocate can allocate gigabytes before the supervisor measures.
 */
export type DiskBound = 'volume' | 'watch' | 'none';

export async function diskBound(engine: Pick<Engine, 'hasQuotas' | 'facts'>): Promise<DiskBound> {
  if (await engine.hasQuotas()) return 'volume';
  return (await engine.facts()).seccomp ? 'watch' : 'none';
}

/** Makes the check that refuses, in production, a host whose disk bound is `none`. A good answer is cached; a bad one is asked for again. */
export function createBoundCheck(engine: Pick<Engine, 'hasQuotas' | 'facts'>, environment: string | undefined): () => Promise<void> {
  let isGood = environment !== 'production';
  return async () => {
    if (isGood) return;
    if ((await diskBound(engine)) === 'none')
      throw failure('CONFIG_INVALID', {
        name: 'Docker engine',
        problem: 'nothing keeps the disk of sandboxes within diskMb: it has no seccomp, and its storage no quotas; NODE_ENV is "production"',
        fix: "Use a kernel and an engine with seccomp (`docker info` lists it), or put the engine's data directory on xfs mounted with pquota",
      });
    isGood = true;
  };
}

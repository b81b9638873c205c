import { DEFAULT_DISK_MB, type SandboxOptions } from '../../contracts/agent.ts';
import type { Engine } from './engine.ts';

/** Space above the limit. The watchdog, which reports the reason, then ends a command before the storage is full, and the journal can still be written. */
const RESERVE_MB = 64;

/** The limit of a sandbox's files, in MB; 0 is no limit. */
export function diskLimit({ diskMb = DEFAULT_DISK_MB }: Pick<SandboxOptions, 'diskMb'>): number {
  return diskMb;
}

/** The limit of the volume's size that the storage enforces, if it can. It stops processes that write faster than the watchdog measures. */
export async function volumeLimit(engine: Pick<Engine, 'hasQuotas'>, options: Pick<SandboxOptions, 'diskMb'>): Promise<number | undefined> {
  const limit = diskLimit(options);
  return limit > 0 && (await engine.hasQuotas()) ? limit + RESERVE_MB : undefined;
}
